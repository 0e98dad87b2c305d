// Scales and their ticks.

class Scale {
  constructor(low, high, log, from, to) {
    if (high === low) {
      const around = low;
      const reach = Math.abs(around) * 0.1 || 1;
      [low, high] = log ? [around / 3, around * 3] : [around - reach, around + reach];
    }
    Object.assign(this, { low, high, log, from, to });
  }

  share(value) {
    if (this.log) return Math.log(value / this.low) / Math.log(this.high / this.low);
    return (value - this.low) / (this.high - this.low);
  }

  at(value) {
    return this.from + (this.to - this.from) * this.share(value);
  }

  inverse(place) {
    const share = (place - this.from) / (this.to - this.from);
    return this.log ? this.low * (this.high / this.low) ** share : this.low + share * (this.high - this.low);
  }

  // About `count` labelled places, and more without a label; on request at whole numbers only.
  ticks(count, whole = false) {
    const low = Math.min(this.low, this.high); // an axis may run downwards
    const high = Math.max(this.low, this.high);
    const found = this.log ? logTicks(low, high, count) : linearTicks(low, high, count, whole);
    const slack = 1e-9;
    return found.filter((tick) => this.share(tick.value) >= -slack && this.share(tick.value) <= 1 + slack);
  }
}

function linearTicks(low, high, count, whole = false) {
  const rough = Math.max((high - low) / Math.max(1, count), whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const multiples = whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10];
  const step = multiples.map((m) => m * power).find((s) => s >= rough * (whole ? 0.6 : 0.75) && (s >= 1 || !whole));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    ticks.push({ value: k * step, label: linearLabel(k * step, step, Math.max(Math.abs(low), Math.abs(high))) });
  }
  return ticks;
}

// With as many digits as tell neighbours apart.
function linearLabel(value, step, size) {
  if (value === 0) return ["0", ""];
  if (size < 1e-3 || size >= 1e5) return split(value, Math.max(2, Math.ceil(Math.log10(size / step)) + 1));
  const power = Math.floor(Math.log10(step));
  const decimals = Math.max(0, -power + (Math.abs(step / 10 ** power - 2.5) < 0.1 ? 1 : 0));
  return [value.toFixed(decimals).replace("-", "−"), ""];
}

function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.5) return linearTicks(low, high, Math.min(count, 4));
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const ticks = [];
  if (decades <= 1.4) {
    for (let k = first; k <= last; k++) {
      for (let m = 1; m < 10; m++) {
        const labelled = m === 1 || m === 2 || m === 5;
        ticks.push({ value: m * 10 ** k, label: labelled ? powerLabel(m, k) : null });
      }
    }
    return ticks;
  }
  const step = Math.max(1, Math.ceil(decades / Math.max(1, count)));
  for (let k = first; k <= last; k++) {
    ticks.push({ value: 10 ** k, label: k % step === 0 ? powerLabel(1, k) : null });
    if (decades > 5) continue;
    for (let m = 2; m < 10; m++) ticks.push({ value: m * 10 ** k, label: null });
  }
  return ticks;
}

function powerLabel(multiple, power) {
  if (power >= -2 && power <= 3) return [String(Number((multiple * 10 ** power).toPrecision(3))), ""];
  return [multiple === 1 ? "10" : `${multiple} × 10`, String(power).replace("-", "−")];
}

const labelWidth = ([text, exponent], size = 11) => textWidth(text, size) + textWidth(exponent, size * 0.75);

// An SVG text with its exponent raised.
function labelText([text, exponent], attributes) {
  const element = draw("text", attributes, text);
  if (exponent) element.append(draw("tspan", { dy: "-0.5em", class: "exponent" }, exponent));
  return element;
}
