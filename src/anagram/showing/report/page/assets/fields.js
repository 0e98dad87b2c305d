// Solution, error and residual over the domain; slices of it, and its course in time.

const KINDS = ["solution", "error", "residual"];
const SHOWN_AT_FIRST = 3; // runs: as many as stand beside each other

function showFields(host, runs) {
  const groups = new Map();
  runs.forEach((run, index) => {
    const { axes, kind, size, components, shape } = run.fields;
    const key = JSON.stringify([axes, kind, size, components, shape]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ run, index });
  });
  for (const members of groups.values()) new FieldGroup(host, members, groups.size > 1, runs.length === 1);
}

// Runs over the same domain, on the same grid: they share their controls.
class FieldGroup extends SharedGrid {
  constructor(host, members, titled, alone) {
    super(members);
    this.alone = alone;
    this.on = new Set(members.slice(0, SHOWN_AT_FIRST).map(({ index }) => index));
    this.places = [...members[0].run.fields.places];
    [this.across, this.up] = this.firstAxes();
    this.controls = make("div", { class: "controls" });
    this.body = make("div", {});
    if (titled) host.append(make("h3", {}, this.title()));
    host.append(this.controls, this.body, ...this.notes(members));
    this.build(members[0].run.fields);
    this.controls.hidden = !this.controls.children.length;
  }

  get shown() {
    return this.members.filter(({ index }) => this.on.has(index));
  }

  title() {
    const problems = [...new Set(this.members.map(({ run }) => run.problem))];
    return `${this.members.map(({ run }) => run.letter).join(", ")}: ${problems.join(", ")}`;
  }

  // Time lies horizontally if there is one axis of space; with more of them it is what a slider moves through.
  firstAxes() {
    const places = this.axes.map((_, k) => k).filter((k) => !this.axes[k].parameter);
    const space = (places.length > 1 ? places : this.axes.map((_, k) => k)).filter((k) => k !== this.time);
    if (this.axes.length === 1) return [0, 0];
    if (places.length === 2 && this.time >= 0) return [this.time, space[0]];
    return space.length > 1 ? [space[0], space[1]] : [0, 1];
  }

  notes(members) {
    const told = new Map();
    for (const { run } of members) {
      for (const note of run.fields.notes) told.set(note, [...(told.get(note) || []), run.letter]);
    }
    return [...told].map(([note, letters]) =>
      make("p", { class: "note" }, letters.length && letters[0] ? `${letters.join(", ")}: ${note}` : note),
    );
  }

  titleOf(kind) {
    if (kind === "solution") return this.component;
    return kind === "error" ? `|error of ${this.component}|` : `|residual of ${this.condition}|`;
  }

  // -- controls --------------------------------------------------------------------------------------
  build(fields) {
    const { controls } = this;
    if (this.members.length > 1) {
      const entries = this.members.map(({ run, index }) => ({
        key: String(index),
        name: nameOf(run),
        style: `${colourOf(index)} solid`,
        on: this.on.has(index),
      }));
      const turn = (key, on) => {
        if (on) this.on.add(Number(key));
        else this.on.delete(Number(key));
        this.arrange();
      };
      controls.append(switches("Runs shown", entries, turn));
      if (this.axes.length > 1) {
        const same = [{ key: "same", name: "the same colours for all runs", on: this.together }];
        controls.append(switches("Colours", same, (_, on) => this.set({ together: on })));
      }
    }
    if (fields.components.length > 1) {
      const entries = fields.components.map((name) => ({ key: name, name }));
      controls.append(choice("unknown", entries, this.component, (name) => this.set({ component: name })));
    }
    if (this.conditions.length > 1) {
      const entries = this.conditions.map((name) => ({ key: name, name }));
      controls.append(choice("residual of", entries, this.condition, (name) => this.set({ condition: name })));
    }
    if (this.axes.length > 2) {
      this.chooser = make("div", {});
      controls.after(this.chooser);
      this.buildChooser();
    }
    this.arrange();
  }

  // Which two axes are shown, and where the others stand.
  buildChooser() {
    this.sliders?.forEach((slider) => slider.stop());
    const shownAxes = this.kind === "planes" ? [...new Set(this.pairs.flat())] : this.axes.map((_, k) => k);
    const entries = shownAxes.map((k) => ({ key: String(k), name: this.axes[k].name }));
    const pick = (mine, other) => (key) => {
      const chosen = Number(key);
      if (this[other] === chosen) this[other] = this[mine]; // the two change places
      this[mine] = chosen;
      this.buildChooser();
      this.arrange();
    };
    this.sliders = [];
    if (this.kind === "tensor") {
      this.axes.forEach((axis, k) => {
        if (k === this.across || k === this.up) return;
        const moved = (index) => {
          this.places[k] = index;
          this.repaint();
        };
        this.sliders.push(new Slider(axis, this.size, this.places[k], moved, { player: k === this.time }));
      });
    }
    this.chooser.replaceChildren(
      make(
        "div",
        { class: "controls" },
        choice("horizontal", entries, String(this.across), pick("across", "up")),
        choice("vertical", entries, String(this.up), pick("up", "across")),
      ),
      make("div", { class: "sliders" }, this.sliders.map((slider) => slider.element)),
    );
  }

  set(changes) {
    Object.assign(this, changes);
    this.arrange();
  }

  // -- pictures --------------------------------------------------------------------------------------
  arrange() {
    this.slider?.stop();
    this.maps = [];
    this.body.replaceChildren();
    const kinds = KINDS.filter((kind) => this.all(kind).length);
    this.scales.clear();
    if (this.axes.length === 1) return this.body.append(this.curves(kinds));
    this.body.append(this.planes(kinds));
    if (this.axes.length === 2 && this.time >= 0) this.body.append(this.evolution(kinds));
  }

  resolution() {
    const { resolution, kind, size } = this.members[0].run.fields;
    return `${resolution}${kind === "tensor" && size < 40 ? ", colours mixed in between" : ""}.`;
  }

  curves(kinds) {
    const x = this.coordinates(0);
    const axis = this.axes[0];
    const plots = this.linePlots(kinds, axis);
    this.fillLines(plots, x, (values) => values);
    const exact = this.all("error").length ? " Dotted: the known solution." : "";
    const caption = `${this.inWords(kinds)} over ${axis.name}; ${this.resolution()}${exact}`;
    return figure(caption, make("div", { class: plots.length > 2 ? "panels" : "pair" }, plots.map(({ plot }) => plot.element)));
  }

  // One plot for the solution, one for each kind of error; runs lie over each other.
  linePlots(kinds, axis) {
    return kinds.map((kind) => {
      const title = this.titleOf(kind);
      const log = kind !== "solution";
      const plot = new LinePlot({ label: `${title} over ${axis.name}`, x: { label: axis.name }, y: { label: title, log }, height: 280 });
      plot.element.dataset.kind = kind;
      return { kind, plot };
    });
  }

  fillLines(plots, x, cut, ranges = {}) {
    for (const { kind, plot } of plots) {
      const lines = [];
      for (const { run, index } of this.shown) {
        const values = this.values(index, kind);
        if (!values) continue;
        const y = cut(values);
        const name = this.alone ? this.titleOf(kind) : `${run.letter}  ${this.titleOf(kind)}`;
        lines.push({ name, style: `${colourOf(index)} solid`, x, y: kind === "solution" ? y : y.map(Math.abs) });
        const error = kind === "solution" && this.values(index, "error");
        // The errors are known to more digits than the solution: exact = solution − error.
        if (error && !lines.some((line) => line.exact)) {
          const gap = cut(error);
          lines.push({ name: "exact", exact: true, style: "ink dotted", x, y: y.map((value, k) => value - gap[k]) });
        }
      }
      plot.show(lines, { yRange: ranges[kind] });
    }
  }

  planes(kinds) {
    const rows = this.alone
      ? [kinds.map((kind) => this.panel(this.members[0], kind))]
      : kinds.map((kind) => this.shown.filter(({ index }) => this.values(index, kind)).map((member) => this.panel(member, kind)));
    this.repaint();
    const others = this.sliders?.length ? " The other axes are held where the sliders stand." : "";
    const caption = `${this.inWords(kinds)} over ${this.axes[this.across].name} and ${this.axes[this.up].name}; ${this.resolution()}${others}`;
    return figure(caption, rows.map((panels) => make("div", { class: "panels" }, panels)));
  }

  inWords(kinds) {
    const words = { solution: "Solution", error: "error against the known solution", residual: "residual" };
    const named = kinds.map((kind) => words[kind]);
    return named.length > 1 ? `${named.slice(0, -1).join(", ")} and ${named.at(-1)}` : named[0];
  }

  panel({ run, index }, kind) {
    const title = this.titleOf(kind);
    const map = new MapPanel({
      title: this.alone ? title : `${run.letter}  ${title}`,
      label: `${title}${this.alone ? "" : ` of run ${nameOf(run)}`} as a map`,
      onpoint: (cursor) => this.maps.forEach((other) => other.map.point(cursor)),
    });
    Object.assign(map.element.dataset, { kind, run: index });
    this.maps.push({ map, index, kind });
    return map.element;
  }

  repaint() {
    for (const { map, index, kind } of this.maps) {
      const told = this.slice(this.values(index, kind), this.across, this.up, this.places);
      const cover = this.cover && this.slice(this.cover, this.across, this.up, this.places);
      const changed = { values: told, mark: this.now, cover };
      const same = map.data && map.data.across === this.across && map.data.up === this.up;
      if (same) map.repaint(changed);
      else {
        map.show({
          ...changed,
          columns: this.size,
          rows: this.size,
          across: this.across,
          up: this.up,
          colours: this.colours(kind, index),
          name: kind === "solution" ? this.component : kind,
          horizontal: this.axes[this.across],
          vertical: this.axes[this.up],
          outline: this.outline(this.across, this.up),
          shaped: Boolean(this.shape),
          inSpace: Boolean(this.shape) && [this.across, this.up].every((k) => this.shape.axes.includes(k)),
        });
      }
    }
  }

  // u(x) at a time that can be dragged or played; a line in the maps says which.
  evolution(kinds) {
    const space = 1 - this.time;
    const axis = this.axes[space];
    const x = this.coordinates(space);
    const times = this.coordinates(this.time);
    const plots = this.linePlots(kinds, axis);
    const ranges = Object.fromEntries(plots.map(({ kind, plot }) => [kind, this.rangeOf(kind, plot)]));
    const strides = this.axes.map((_, k) => this.size ** (1 - k));
    const update = (index) => {
      const cut = (values) => Float32Array.from(x, (_, k) => values[index * strides[this.time] + k * strides[space]]);
      this.fillLines(plots, x, cut, ranges);
      this.now = times[index];
      for (const { map } of this.maps) {
        map.data.mark = this.now;
        map.drawMark();
      }
    };
    this.slider = new Slider(this.axes[this.time], this.size, 0, update, { player: true });
    update(0);
    const exact = this.all("error").length ? " Dotted: the known solution." : "";
    const caption = `The course in time: play it, or drag the time; the line in the maps above shows it.${exact}`;
    return figure(
      caption,
      make("div", { class: "sliders" }, this.slider.element),
      make("div", { class: plots.length > 2 ? "panels" : "pair" }, plots.map(({ plot }) => plot.element)),
    );
  }

  // The same range at all times.
  rangeOf(kind, plot) {
    const log = kind !== "solution";
    const arrays = log ? this.all(kind).map((values) => values.map(Math.abs)) : this.all(kind);
    const range = extent(arrays, log ? isPositive : undefined);
    if (log && range) range[0] = Math.max(range[0], ColourScale.ofMagnitude(this.all(kind)).scale.low / 10);
    return plot.reach(range, log);
  }
}
