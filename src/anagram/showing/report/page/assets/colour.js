// Colours of maps. Between their stops they are mixed in Oklab, where equal steps look equal.

const STOPS = {
  level: ["#0f1740", "#1c3f77", "#1d6c8c", "#2f987f", "#8dbb4e", "#f4dd59"],
  magnitude: ["#0c0a1c", "#37165e", "#7f206b", "#c63f5b", "#f0824b", "#fad27c", "#fdf8de"],
  signed: ["#133a73", "#3f7fb8", "#a5c8e1", "#f5f3ef", "#efbca0", "#cf6249", "#851629"],
};

const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const gamma = (c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

function toOklab(hex) {
  const [r, g, b] = [1, 3, 5].map((k) => linear(parseInt(hex.slice(k, k + 2), 16) / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => Math.round(255 * gamma(Math.min(1, Math.max(0, c)))));
}

const SHADES = 512;
const palettes = new Map();

function palette(name) {
  if (!palettes.has(name)) {
    const stops = STOPS[name].map(toOklab);
    const shades = new Uint8ClampedArray(3 * SHADES);
    for (let k = 0; k < SHADES; k++) {
      const place = (k / (SHADES - 1)) * (stops.length - 1);
      const below = Math.min(stops.length - 2, Math.floor(place));
      const share = place - below;
      shades.set(fromOklab(stops[below].map((c, i) => c + share * (stops[below + 1][i] - c))), 3 * k);
    }
    palettes.set(name, shades);
  }
  return palettes.get(name);
}

// How values become colours. A field of both signs is white at zero; magnitudes are logarithmic.
class ColourScale {
  constructor(name, low, high, log) {
    Object.assign(this, { name, shades: palette(name), scale: new Scale(low, high, log, 0, 1) });
  }

  static ofField(arrays) {
    const [low, high] = extent(arrays) || [0, 1];
    if (low < 0 && high > 0 && Math.min(-low, high) > 0.1 * (high - low)) {
      const reach = Math.max(-low, high);
      return new ColourScale("signed", -reach, reach, false);
    }
    return new ColourScale("level", low, high, false);
  }

  static ofMagnitude(arrays) {
    const ranges = arrays.map(rangeOfMagnitude).filter(Boolean);
    if (!ranges.length) return new ColourScale("magnitude", 0.1, 1, true);
    const low = Math.min(...ranges.map(([least]) => least));
    return new ColourScale("magnitude", low, Math.max(...ranges.map(([, most]) => most)), true);
  }

  // A function from values to places between 0 and 1; exact zeros of a logarithmic picture have its least colour.
  placer() {
    const { low, high, log } = this.scale;
    const within = (share) => (share < 0 ? 0 : share > 1 ? 1 : share);
    if (!log) return (value) => within((value - low) / (high - low));
    const start = Math.log(low);
    const length = Math.log(high) - start;
    return (value) => within((Math.log(Math.abs(value)) - start) / length);
  }
}

// From the largest down to where all but a hundredth of the values lie, and at most six decades.
function rangeOfMagnitude(values) {
  const stride = Math.max(1, Math.floor(values.length / 20000));
  const sizes = [];
  let top = 0;
  values.forEach((value, k) => {
    const size = Math.abs(value);
    if (!isPositive(size)) return;
    if (size > top) top = size;
    if (k % stride === 0) sizes.push(size);
  });
  if (top === 0) return null;
  sizes.sort((a, b) => a - b);
  return [Math.max(Math.min(sizes[Math.floor(sizes.length / 100)] ?? top, top / 10), top * 1e-6), top];
}
