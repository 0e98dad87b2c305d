// A field over two axes as a picture, with a colour bar and a cursor that goes from sample to sample.

const FINEST_PICTURE = 480;
const SHARP = 12; // how fast a picture fades out at the edge of a shape, a sample being 1

class MapPanel {
  // `onpoint` is told the sample under the cursor, or null: maps of the same grid move together.
  constructor({ title, label, onpoint }) {
    this.width = 0;
    this.onpoint = onpoint || (() => {});
    this.cursor = null;
    this.picture = make("canvas", { class: "picture", "aria-hidden": "true" });
    this.bar = make("canvas", { class: "picture", "aria-hidden": "true", width: 1, height: 256 });
    this.frame = make("div", { class: "map", tabindex: 0, role: "group", "aria-label": `${label}. Arrow keys move the cursor.` });
    this.frame.append(this.picture, this.bar);
    this.tip = new Tip(this.frame);
    this.heading = make("h4", {}, title);
    this.element = make("div", { class: "panel" }, this.heading, this.frame);
    for (const kind of ["pointermove", "pointerdown"]) this.frame.addEventListener(kind, (event) => this.follow(event));
    this.frame.addEventListener("pointerleave", () => this.onpoint(null));
    this.frame.addEventListener("blur", () => this.onpoint(null));
    this.frame.addEventListener("keydown", (event) => this.key(event));
    whenResized(this.frame, (width) => {
      this.width = width;
      this.render();
    });
  }

  // Data is {values, columns, rows, horizontal, vertical, colours, name, told, mark}: values row by row from the
  // lower end of the vertical axis on. `told` are the values the cursor names, where they are others than those shown.
  show(data) {
    this.data = data;
    this.render();
  }

  layout() {
    const { horizontal, vertical, colours } = this.data;
    const ratio = (vertical.high - vertical.low) / (horizontal.high - horizontal.low);
    const spatial = horizontal.name !== "t" && vertical.name !== "t" && !this.data.free;
    const [flattest, steepest] = this.data.inSpace ? [0.2, 1.8] : [0.5, 1.1]; // shapes keep their proportions
    const aspect = spatial ? Math.min(steepest, Math.max(flattest, ratio)) : this.data.aspect || 0.8;
    const { low, high, log } = colours.scale;
    const widest = (ticks) => Math.max(0, ...ticks.filter((t) => t.label).map((t) => labelWidth(t.label)));
    this.top = 20;
    this.left = 40;
    // Ticks need room, and how many there are depends on the room that is left.
    for (let pass = 0; pass < 2; pass++) {
      const height = Math.round((this.width - this.left - 66) * aspect);
      this.barTicks = new Scale(low, high, log, 0, 1).ticks(Math.max(2, Math.floor(height / 40)));
      this.yTicks = new Scale(vertical.low, vertical.high, Boolean(vertical.log), 0, 1).ticks(Math.max(2, Math.floor(height / 45)));
      this.left = Math.ceil(Math.max(20, widest(this.yTicks))) + 12;
    }
    this.right = this.width - Math.ceil(Math.max(32, widest(this.barTicks))) - 34;
    this.bottom = this.top + Math.round((this.right - this.left) * aspect);
    this.height = this.bottom + 38;
    this.x = new Scale(horizontal.low, horizontal.high, Boolean(horizontal.log), this.left, this.right);
    this.y = new Scale(vertical.low, vertical.high, Boolean(vertical.log), this.bottom, this.top);
    this.barScale = new Scale(low, high, log, this.bottom, this.top);
  }

  render() {
    if (!this.width || !this.data) return;
    this.layout();
    const { left, right, top, bottom } = this;
    const { horizontal, vertical } = this.data;
    this.frame.style.height = `${this.height}px`;
    place(this.picture, left, top, right - left, bottom - top);
    place(this.bar, right + 12, top, 12, bottom - top);
    this.paint();
    this.paintBar();
    this.mark = draw("g", {});
    this.pointerMarks = draw("g", {});
    const long = (vertical.label || vertical.name).length > 3;
    const xTicks = this.x.ticks(Math.max(2, Math.floor((right - left) / 70)));
    const svg = draw(
      "svg",
      { width: this.width, height: this.height, "aria-hidden": "true" },
      this.edge(),
      draw("rect", { class: "frame", x: right + 12, y: top, width: 12, height: bottom - top }),
      xTicks.map((t) => this.bottomTick(t)),
      this.yTicks.map((t) => this.sideTick(t, this.y.at(t.value), left, -1)),
      this.barTicks.map((t) => this.sideTick(t, this.barScale.at(t.value), right + 24, 1)),
      draw("text", { class: "axis-name", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, short(horizontal.label || horizontal.name)),
      draw("text", { class: "axis-name", x: long ? 0 : left - 8, y: top - 8, "text-anchor": long ? "start" : "end" }, short(vertical.label || vertical.name)),
      this.mark,
      this.pointerMarks,
      draw("rect", { class: "plot-area", x: left, y: top, width: right - left, height: bottom - top }),
    );
    this.frame.querySelector("svg:not(.swatch)")?.remove();
    this.frame.append(svg);
    this.frame.append(this.tip.element);
    this.drawMark();
    this.point(this.cursor);
  }

  // The outline of a shape, or the frame of a box.
  edge() {
    const { left, right, top, bottom } = this;
    const outline = this.data.outline;
    if (!outline) return draw("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top });
    return draw("path", { class: "frame outline", d: outline.map((loop) => closedPath(loop, this.x, this.y)).join("") });
  }

  bottomTick({ value, label }) {
    const x = this.x.at(value);
    const tick = draw("path", { class: "axis", d: `M${x} ${this.bottom}v${label ? 5 : 3}` });
    if (!label) return [tick];
    return [tick, labelText(label, { class: "tick", x, y: this.bottom + 18, "text-anchor": "middle" })];
  }

  sideTick({ label }, y, x, side) {
    const tick = draw("path", { class: "axis", d: `M${x} ${y}h${side * (label ? 5 : 3)}` });
    if (!label) return [tick];
    return [tick, labelText(label, { class: "tick", x: x + side * 8, y: y + 4, "text-anchor": side > 0 ? "start" : "end" })];
  }

  // Another picture on the same axes: what an animation draws again.
  repaint(data) {
    Object.assign(this.data, data);
    if (!this.width) return;
    this.paint();
    this.point(this.cursor);
  }

  paint() {
    const { values, columns, rows, colours, smooth = true } = this.data;
    const fine = Math.min(2, window.devicePixelRatio || 1);
    const wide = Math.min(FINEST_PICTURE, Math.round((this.right - this.left) * fine));
    const high = Math.min(FINEST_PICTURE, Math.round((this.bottom - this.top) * fine));
    Object.assign(this.picture, { width: wide, height: high });
    const context = this.picture.getContext("2d");
    const image = context.createImageData(wide, high);
    const painted = this.data.shaped ? grown(values, columns, rows) : values;
    fillImage(image, painted, columns, rows, colours, smooth, this.data.outline ? null : this.data.cover);
    context.putImageData(image, 0, 0);
    if (this.data.outline) this.cut(context, wide, high);
  }

  // Leave out what lies outside of the outline.
  cut(context, wide, high) {
    const { horizontal, vertical, outline } = this.data;
    const x = new Scale(horizontal.low, horizontal.high, false, 0, wide);
    const y = new Scale(vertical.low, vertical.high, false, high, 0);
    context.globalCompositeOperation = "destination-in";
    context.fill(new Path2D(outline.map((loop) => closedPath(loop, x, y)).join("")), "evenodd");
    context.globalCompositeOperation = "source-over";
  }

  paintBar() {
    const context = this.bar.getContext("2d");
    const image = context.createImageData(1, 256);
    const { shades } = this.data.colours;
    for (let k = 0; k < 256; k++) setPixel(image.data, 4 * (255 - k), shades, k / 255);
    context.putImageData(image, 0, 0);
  }

  drawMark() {
    const at = this.data.mark;
    if (!this.mark) return;
    if (at === undefined) this.mark.replaceChildren();
    else {
      const d = `M${this.x.at(at)} ${this.top}V${this.bottom}`;
      this.mark.replaceChildren(draw("path", { class: "now under", d }), draw("path", { class: "now", d }));
    }
  }

  follow(event) {
    const box = this.frame.getBoundingClientRect();
    const { columns, rows } = this.data;
    const x = (event.clientX - box.left - this.left) / (this.right - this.left);
    const y = (this.bottom - (event.clientY - box.top)) / (this.bottom - this.top);
    if (x < -0.02 || x > 1.02 || y < -0.02 || y > 1.02) return this.onpoint(null);
    const clamp = (share, count) => Math.min(count - 1, Math.max(0, Math.round(share * (count - 1))));
    this.onpoint({ i: clamp(x, columns), j: clamp(y, rows) });
  }

  // Show the cursor at a sample, or nowhere.
  point(cursor) {
    this.cursor = cursor;
    if (!this.pointerMarks) return;
    if (!cursor) {
      this.pointerMarks.replaceChildren();
      return this.tip.hide();
    }
    const { values, columns, rows, horizontal, vertical, name, told, aside = [] } = this.data;
    const { i, j } = cursor;
    const across = coordinateOf(horizontal, i, columns);
    const up = coordinateOf(vertical, j, rows);
    const x = this.left + ((this.right - this.left) * i) / Math.max(1, columns - 1);
    const y = this.bottom - ((this.bottom - this.top) * j) / Math.max(1, rows - 1);
    this.pointerMarks.replaceChildren(
      draw("circle", { class: "spot under", cx: x, cy: y, r: 5 }),
      draw("circle", { class: "spot", cx: x, cy: y, r: 5 }),
    );
    const value = (told || values)[j * columns + i];
    const words = this.data.shaped && Number.isNaN(value) ? "outside" : null;
    const rowsShown = [{ name, value, words }, ...aside.map((one) => ({ name: one.name, value: one.values[j * columns + i] }))];
    this.tip.show(x, y, `${horizontal.name} = ${across}, ${vertical.name} = ${up}`, rowsShown);
  }

  key(event) {
    if (event.key === "Escape") return this.onpoint(null);
    const { columns, rows } = this.data;
    const now = this.cursor || { i: (columns - 1) >> 1, j: (rows - 1) >> 1 };
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const leap = event.shiftKey ? 10 : 1;
    const within = (k, count) => Math.min(count - 1, Math.max(0, k));
    this.onpoint({ i: within(now.i + leap * move[0], columns), j: within(now.j + leap * move[1], rows) });
  }
}

function place(element, left, top, width, height) {
  Object.assign(element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
}

function coordinateOf(axis, index, count) {
  if (axis.values) return coordinateText(axis.values[index], axis.step || 1);
  if (axis.log) {
    const ratio = (axis.high / axis.low) ** (1 / Math.max(1, count - 1));
    const value = axis.low * ratio ** index;
    return coordinateText(value, value * (ratio - 1));
  }
  const step = (axis.high - axis.low) / Math.max(1, count - 1);
  return coordinateText(axis.low + step * index, step);
}

const closedPath = (loop, x, y) => `M${loop.map(([across, up]) => `${x.at(across).toFixed(2)} ${y.at(up).toFixed(2)}`).join("L")}Z`;

// Values and, for two samples beyond the edge of a shape, the means of those beside them: a picture is cut off between.
function grown(values, columns, rows) {
  let now = values;
  if (!values.some(Number.isNaN)) return now;
  for (let pass = 0; pass < 2; pass++) {
    const next = Float32Array.from(now);
    for (let j = 0; j < rows; j++) {
      for (let i = 0; i < columns; i++) {
        if (!Number.isNaN(now[j * columns + i])) continue;
        let sum = 0;
        let count = 0;
        for (let b = Math.max(0, j - 1); b <= Math.min(rows - 1, j + 1); b++) {
          for (let a = Math.max(0, i - 1); a <= Math.min(columns - 1, i + 1); a++) {
            const value = now[b * columns + a];
            if (Number.isNaN(value)) continue;
            sum += value;
            count++;
          }
        }
        if (count) next[j * columns + i] = sum / count;
      }
    }
    now = next;
  }
  return now;
}

// Values on a grid whose ends are the edges of the image; mixed bilinearly, or the nearest one. Errors have a sign
// here, so that the lines where they vanish stay thin. A shape ends where it covers half of what lies around (127.5).
function fillImage(image, values, columns, rows, colours, smooth, cover) {
  const { width, height, data } = image;
  const place = colours.placer();
  const across = Array.from({ length: width }, (_, px) => gridPlace(px, width, columns, smooth));
  for (let py = 0; py < height; py++) {
    const { below: j, share: t } = gridPlace(height - 1 - py, height, rows, smooth);
    const lower = j * columns;
    const upper = Math.min(rows - 1, j + 1) * columns;
    for (let px = 0; px < width; px++) {
      const { below: i, share: s } = across[px];
      const i2 = Math.min(columns - 1, i + 1);
      // An unknown value beside a sample that is hit exactly does not matter.
      let value = mix(values[lower + i], values[lower + i2], s);
      if (t > 0) value = mix(value, mix(values[upper + i], values[upper + i2], s), t);
      const at = place(value);
      if (at !== at) continue; // unknown: transparent
      setPixel(data, 4 * (py * width + px), colours.shades, at);
      if (!cover) continue;
      const share = mix(mix(cover[lower + i], cover[lower + i2], s), mix(cover[upper + i], cover[upper + i2], s), t) / 255;
      data[4 * (py * width + px) + 3] = 255 * Math.min(1, Math.max(0, SHARP * (share - 0.5) + 0.5));
    }
  }
}

const mix = (a, b, share) => (share === 0 ? a : (1 - share) * a + share * b);

function setPixel(data, at, shades, place) {
  const shade = 3 * Math.round(place * (SHADES - 1));
  data[at] = shades[shade];
  data[at + 1] = shades[shade + 1];
  data[at + 2] = shades[shade + 2];
  data[at + 3] = 255;
}

function gridPlace(pixel, pixels, count, smooth) {
  const place = pixels > 1 ? (pixel / (pixels - 1)) * (count - 1) : 0;
  if (!smooth) return { below: Math.round(place), share: 0 };
  const below = Math.min(count - 1, Math.floor(place));
  return { below, share: place - below };
}
