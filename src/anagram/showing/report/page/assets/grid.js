// The numbers of runs over the same domain, on the same grid.

class SharedGrid {
  constructor(members) {
    const { axes, size, kind, pairs, components, shape } = members[0].run.fields;
    Object.assign(this, { members, axes, size, kind, pairs, shape });
    this.loops = (shape?.outline || []).map(decode);
    this.cover = shape?.cover ? decode(shape.cover) : null;
    this.component = components[0];
    const residuals = members.flatMap(({ run }) => run.fields.quantities.filter((quantity) => quantity.kind === "residual"));
    this.conditions = [...new Set(residuals.map((quantity) => quantity.of))];
    this.condition = this.conditions[0];
    this.time = axes.findIndex((axis) => axis.name === "t");
    // Runs of one problem have the same colours; those of others may be of another size altogether.
    this.together = new Set(members.map(({ run }) => run.problem)).size === 1;
    this.arrays = new Map();
    this.scales = new Map();
  }

  // Of the unknown or the condition that is chosen; null where a run does not know them.
  values(index, kind) {
    const of = kind === "residual" ? this.condition : this.component;
    const key = `${index} ${kind} ${of}`;
    if (!this.arrays.has(key)) {
      const { run } = this.members.find((member) => member.index === index);
      const found = run.fields.quantities.find((q) => q.kind === kind && q.of === of);
      this.arrays.set(key, found ? decode(found) : null);
    }
    return this.arrays.get(key);
  }

  all(kind) {
    return this.members.map(({ index }) => this.values(index, kind)).filter(Boolean);
  }

  // A plane of a tensor, row by row from the lower end of the vertical axis on.
  slice(values, across, up, places) {
    const n = this.size;
    const plane = new Float32Array(n * n);
    if (this.kind === "planes") {
      const swapped = across > up;
      const [a, b] = swapped ? [up, across] : [across, up];
      const start = this.pairs.findIndex(([i, j]) => i === a && j === b) * n * n;
      return fillPlane(plane, n, (i, j) => values[start + (swapped ? j * n + i : i * n + j)]);
    }
    const strides = this.axes.map((_, k) => n ** (this.axes.length - 1 - k));
    let start = 0;
    this.axes.forEach((_, k) => {
      if (k !== across && k !== up) start += places[k] * strides[k];
    });
    return fillPlane(plane, n, (i, j) => values[start + i * strides[across] + j * strides[up]]);
  }

  // The outline of a shape, where its plane is the one that is shown: closed polylines of [across, up].
  outline(across, up) {
    if (!this.loops.length || !this.shape.axes.includes(across) || !this.shape.axes.includes(up)) return null;
    const first = this.shape.axes.indexOf(across);
    return this.loops.map((loop) => Array.from({ length: loop.length / 2 }, (_, k) => [loop[2 * k + first], loop[2 * k + 1 - first]]));
  }

  coordinates(axis) {
    const { low, high, log } = this.axes[axis];
    const scale = new Scale(low, high, Boolean(log), 0, this.size - 1);
    return Float64Array.from({ length: this.size }, (_, k) => scale.inverse(k));
  }

  // The colours of a run, or of all of them.
  colours(kind, index) {
    const key = this.together ? kind : `${kind} ${index}`;
    if (!this.scales.has(key)) {
      const arrays = this.together ? this.all(kind) : [this.values(index, kind)];
      this.scales.set(key, kind === "solution" ? ColourScale.ofField(arrays) : ColourScale.ofMagnitude(arrays));
    }
    return this.scales.get(key);
  }
}

function fillPlane(plane, n, value) {
  for (let j = 0; j < n; j++) {
    for (let i = 0; i < n; i++) plane[j * n + i] = value(i, j);
  }
  return plane;
}
