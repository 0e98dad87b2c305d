// Elements, arrays and numbers.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_SPACE, name), attributes, children);
}

// Texts become text nodes: nothing that stands in a run is ever read as HTML.
function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity));
  return element;
}

// Names of axes and fields are usually short; a picture has no room for others.
const short = (text, length = 28) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

let lastId = 0;
const newId = (prefix) => `${prefix}-${++lastId}`;

// Arrays are little-endian floats, or bytes, in base 64.
function decode(array) {
  const text = atob(array.data);
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  if (array.type === "u1") return bytes;
  return array.type === "f8" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
}

// A number as text in two parts: "1.23 × 10" and its exponent, or the number alone.
function split(value, digits = 4) {
  if (Number.isNaN(value)) return ["unknown", ""];
  if (!Number.isFinite(value)) return [value > 0 ? "∞" : "−∞", ""];
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e5)) {
    return [String(Number(value.toPrecision(digits))).replace("-", "−"), ""];
  }
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return [`${mantissa.replace("-", "−")} × 10`, String(Number(exponent)).replace("-", "−")];
}

function numberNodes(value, digits) {
  const [text, exponent] = split(value, digits);
  return exponent ? [text, make("sup", {}, exponent)] : [text];
}

function numberText(value, digits) {
  const [text, exponent] = split(value, digits);
  return exponent ? `${text}^${exponent}` : text;
}

// A coordinate needs no more digits than its grid has.
function coordinateText(value, step) {
  const decimals = Math.min(8, Math.max(0, Math.ceil(-Math.log10(Math.abs(step))) + 2));
  if (decimals >= 8 || Math.abs(value) >= 1e6) return numberText(value, 6);
  return String(Number(value.toFixed(decimals))).replace("-", "−");
}

function extent(arrays, accept = Number.isFinite) {
  let low = Infinity;
  let high = -Infinity;
  for (const values of arrays) {
    for (const value of values) {
      if (!accept(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

const isPositive = (value) => Number.isFinite(value) && value > 0;

// The index of the value nearest to a place, in an array that rises.
function nearest(values, place) {
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= place) low = middle;
    else high = middle;
  }
  return Math.abs(values[low] - place) <= Math.abs(values[high] - place) ? low : high;
}

// Draw again when the width has changed; heights follow from it.
function whenResized(element, redraw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      redraw(now);
    }
  }).observe(element);
}

const measuring = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 11) {
  measuring.font = `${size}px ${getComputedStyle(document.body).getPropertyValue("--sans") || "sans-serif"}`;
  return measuring.measureText(text).width;
}
