// Curves over a common axis, with a cursor that names their values.

const TIP_ROWS = 10;

class LinePlot {
  // Options: label (for those who cannot see it), x and y ({label, log, whole}), height; of the cursor's place its
  // name, and how many digits or decimals are told.
  constructor(options) {
    this.options = options;
    this.lines = [];
    this.bands = [];
    this.yRange = null;
    this.width = 0;
    this.pointer = null;
    this.element = make("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-label": `${options.label}. Arrow keys move the cursor.`,
      onkeydown: (event) => this.key(event),
      onblur: () => this.leave(),
    });
    this.tip = new Tip(this.element);
    this.element.addEventListener("pointermove", (event) => this.follow(event));
    this.element.addEventListener("pointerdown", (event) => this.follow(event));
    this.element.addEventListener("pointerleave", () => this.leave());
    whenResized(this.element, (width) => {
      this.width = width;
      this.render();
    });
  }

  // Lines are {name, style, x, y, on, dots (how large), joined, quiet (no values to tell)}; x rises.
  show(lines, { yRange = this.yRange, bands = this.bands } = {}) {
    Object.assign(this, { lines, yRange, bands });
    this.render();
  }

  setLog(axis, log) {
    this.options[axis].log = log;
    this.render();
  }

  get visible() {
    return this.lines.filter((line) => line.on !== false && line.x.length);
  }

  layout() {
    const { x, y, height } = this.options;
    const xs = extent(this.visible.map((l) => l.x), x.log ? isPositive : undefined);
    const ys = this.yRange || this.reach(extent(this.visible.map((l) => l.y), y.log ? isPositive : undefined), y.log);
    this.empty = !xs || !ys;
    const [lowX, highX] = xs || [1, 10];
    const [lowY, highY] = ys || [1, 10];
    const bottom = height - 38;
    this.y = new Scale(lowY, highY, y.log, bottom, 24);
    this.yTicks = this.y.ticks(Math.max(3, Math.round((bottom - 24) / 42)), y.whole);
    const labels = this.yTicks.filter((tick) => tick.label);
    this.left = Math.ceil(Math.max(18, ...labels.map((tick) => labelWidth(tick.label)))) + 12;
    this.right = this.width - 12;
    this.bottom = bottom;
    this.x = new Scale(lowX, highX, x.log, this.left, this.right);
    this.xTicks = this.x.ticks(Math.max(2, Math.floor((this.right - this.left) / 75)), this.options.decimals === 0);
  }

  // A little room above and below.
  reach(range, log) {
    if (!range) return null;
    const [low, high] = range;
    if (low === high) return range;
    if (!log) return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
    const room = (high / low) ** 0.04;
    return [low / room, high * room];
  }

  render() {
    if (!this.width) return;
    this.layout();
    const { options, left, right, bottom } = this;
    const clip = newId("clip");
    this.paths = draw("g", { "clip-path": `url(#${clip})` });
    this.marks = draw("g", {});
    const svg = draw(
      "svg",
      { width: this.width, height: options.height, "aria-hidden": "true" },
      draw("clipPath", { id: clip }, draw("rect", { x: left, y: 22, width: right - left, height: bottom - 20 })),
      this.bands.map((band) => this.band(band)),
      this.yTicks.filter((t) => t.label).map((t) => draw("path", { class: "grid", d: `M${left} ${this.y.at(t.value)}H${right}` })),
      draw("path", { class: "axis", d: `M${left} 24V${bottom}H${right}` }),
      this.yTicks.map((t) => this.yTick(t)),
      this.xTicks.map((t) => this.xTick(t)),
      draw("text", { class: "axis-name", x: 2, y: 12 }, short(options.y.label, 40)),
      draw("text", { class: "axis-name", x: right, y: bottom + 34, "text-anchor": "end" }, short(options.x.label)),
      this.paths,
      this.marks,
      draw("rect", { class: "plot-area", x: left, y: 24, width: right - left, height: bottom - 24 }),
    );
    this.element.querySelector("svg:not(.swatch)")?.remove();
    this.element.prepend(svg);
    this.element.querySelector(".plot-empty")?.remove();
    if (this.empty) this.element.append(make("p", { class: "plot-empty" }, "All lines are switched off."));
    this.drawLines();
    this.leave();
  }

  // A band from one place to another, or a line where there is but one; of a run in its colour.
  band({ from, to, style = "" }) {
    if (to === undefined) {
      const x = this.x.log && from <= 0 ? NaN : this.x.at(from);
      const inside = x > this.left && x < this.right;
      return inside ? [draw("path", { class: `mark ${style}`, d: `M${x} 24V${this.bottom}` })] : [];
    }
    const a = Math.max(this.left, this.x.log && from <= 0 ? this.left : this.x.at(from));
    const b = Math.min(this.right, this.x.at(to));
    return b > a ? [draw("rect", { class: `band ${style}`, x: a, y: 24, width: b - a, height: this.bottom - 24 })] : [];
  }

  yTick({ value, label }) {
    const y = this.y.at(value);
    const tick = draw("path", { class: "axis", d: `M${this.left} ${y}h${label ? -5 : -3}` });
    if (!label) return [tick];
    return [tick, labelText(label, { class: "tick", x: this.left - 8, y: y + 4, "text-anchor": "end" })];
  }

  xTick({ value, label }) {
    const x = this.x.at(value);
    const tick = draw("path", { class: "axis", d: `M${x} ${this.bottom}v${label ? 5 : 3}` });
    if (!label) return [tick];
    // The outermost labels stay inside the picture.
    const half = labelWidth(label) / 2;
    const place = Math.min(Math.max(x, half), this.width - half - 1);
    return [tick, labelText(label, { class: "tick", x: place, y: this.bottom + 18, "text-anchor": "middle" })];
  }

  // Lines alone: this is what an animation draws again.
  drawLines() {
    this.paths.replaceChildren(
      ...this.visible
        .filter((line) => line.joined !== false)
        .map((line) => draw("path", { class: `line ${line.style}`, d: this.path(line), "data-name": line.name })),
      ...this.visible.filter((line) => line.dots).flatMap((line) => this.dots(line)),
    );
  }

  dots({ x, y, style, dots }) {
    return Array.from(x, (_, k) => draw("circle", { class: `dot ${style}`, cx: this.x.at(x[k]), cy: this.y.at(y[k]), r: dots }));
  }

  path({ x, y }) {
    let text = "";
    let pen = false;
    for (let k = 0; k < x.length; k++) {
      const a = this.x.at(x[k]);
      const b = this.y.at(y[k]);
      if (!Number.isFinite(a) || !Number.isFinite(b)) {
        pen = false;
        continue;
      }
      text += `${pen ? "L" : "M"}${a.toFixed(1)} ${Math.min(1e4, Math.max(-1e4, b)).toFixed(1)}`;
      pen = true;
    }
    return text;
  }

  follow(event) {
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    if (x < this.left - 8 || x > this.right + 8 || y < 8 || y > this.bottom + 16) this.leave();
    else this.point(this.x.inverse(Math.min(this.right, Math.max(this.left, x))), y);
  }

  // The cursor goes to the nearest sample of any line; every line tells its own nearest one.
  point(place, y = 24) {
    const lines = this.visible.filter((line) => !line.quiet);
    if (!lines.length || this.empty) return;
    const near = lines.map((line) => ({ line, k: nearest(line.x, place) }));
    const gap = ({ line, k }) => Math.abs(this.x.at(line.x[k]) - this.x.at(place));
    const first = near.reduce((best, one) => (gap(one) < gap(best) ? one : best));
    const at = first.line.x[first.k];
    this.pointer = { at, y };
    const rows = near
      .map(({ line, k }) => ({ line, k: line === first.line ? k : nearest(line.x, at) }))
      .map(({ line, k }) => ({ line, x: line.x[k], y: line.y[k], place: this.y.at(line.y[k]) }))
      .filter((row) => Number.isFinite(row.place));
    const shown = new Set([...rows].sort((a, b) => Math.abs(a.place - y) - Math.abs(b.place - y)).slice(0, TIP_ROWS));
    this.marks.replaceChildren(
      draw("path", { class: "cursor", d: `M${this.x.at(at)} 24V${this.bottom}` }),
      ...rows.map((row) => draw("circle", { class: `dot ${row.line.style}`, cx: this.x.at(row.x), cy: row.place, r: 3.5 })),
    );
    const name = this.options.xName || this.options.x.label;
    const told = (value) => (this.options.decimals === undefined ? numberText(value, this.options.digits || 6) : value.toFixed(this.options.decimals));
    this.tip.show(
      this.x.at(at),
      y,
      `${name} = ${told(at)}`,
      rows
        .filter((row) => shown.has(row))
        .map((row) => ({
          swatch: swatch(row.line.style),
          name: row.line.name,
          value: row.y,
          aside: Math.abs(this.x.at(row.x) - this.x.at(at)) > 3 ? `at ${told(row.x)}` : "",
        })),
    );
  }

  leave() {
    this.pointer = null;
    this.marks?.replaceChildren();
    this.tip.hide();
  }

  key(event) {
    if (event.key === "Escape") return this.leave();
    const line = this.visible.reduce((best, one) => (!best || one.x.length > best.x.length ? one : best), null);
    if (!line) return;
    const last = line.x.length - 1;
    const now = this.pointer ? nearest(line.x, this.pointer.at) : -1;
    const leap = Math.max(1, Math.round(last / 20));
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, PageUp: now + leap, PageDown: now - leap, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.point(line.x[Math.min(last, Math.max(0, next))]);
  }
}
