// Losses and errors over the run, what the method did, and the spectrum.

const QUANTITIES = [
  { key: "loss", name: "loss", dash: "solid" },
  { key: "validation_loss", name: "loss on fresh points", dash: "dashed" },
  { key: "l2_error", name: "L² error", dash: "strong" },
];
const STAGES = [
  {
    kind: "sketch",
    words: "Shaded: the sketch, a rough solution that stands until the iterate, which begins anew, has a lower loss.",
  },
  { kind: "anew", words: "Dotted lines: the iterate goes back and takes another way." },
  { kind: "stretches", words: "Dotted lines: the next stretch of time begins." },
];
const WIDEST_SPECTRUM = 600; // columns
const colourOf = (index) => `c${(index % 8) + 1}`;
const nameOf = (run) => [run.letter, run.label].filter(Boolean).join(" ");

function showConvergence(host, runs) {
  const alone = runs.length === 1;
  const lines = runs.flatMap((run, r) =>
    run.curves.map((curve) => {
      const q = QUANTITIES.findIndex((one) => one.key === curve.key);
      const { key, name, dash } = QUANTITIES[q];
      const style = `${colourOf(alone ? q : r)} ${dash}`;
      const decoded = { step: decode(curve.step), seconds: decode(curve.seconds), y: decode(curve.value) };
      return { ...decoded, run: r, quantity: key, style, name: alone ? name : `${run.letter}  ${name}` };
    }),
  );
  if (!lines.length) return host.append(make("p", { class: "note" }, "No step of this run was recorded."));
  const off = { run: new Set(), quantity: new Set() };
  const stages = runs.flatMap((run, r) => stagesOf(run, r, alone));
  const times = stages.map((stage) => stageInTime(lines.find((line) => line.run === stage.run), stage));
  const plots = [
    { field: "step", label: "step", decimals: 0, bands: stages },
    { field: "seconds", label: "training time (s)", xName: "time", bands: times },
  ].map(({ field, label, decimals, xName, bands }) => {
    const plot = new LinePlot({
      label: `Losses and error against ${label}`,
      x: { label, log: false },
      y: { label: "loss, error", log: true },
      height: 330,
      xName,
      decimals,
      digits: 4,
    });
    plot.element.dataset.against = field;
    return { plot, field, bands };
  });
  const update = () => {
    for (const { plot, field, bands } of plots) {
      const shown = lines.map((line) => ({
        ...line,
        x: line[field],
        on: !off.run.has(String(line.run)) && !off.quantity.has(line.quantity),
      }));
      plot.show(shown, { bands: bands.filter(({ run }) => !off.run.has(String(run))) });
    }
  };
  const turn = (kind) => (key, on) => {
    if (on) off[kind].delete(key);
    else off[kind].add(key);
    update();
  };
  const known = QUANTITIES.filter(({ key }) => lines.some((line) => line.quantity === key));
  const legend = make("div", { class: "controls" });
  if (!alone) {
    const entries = runs.map((run, r) => ({ key: String(r), name: nameOf(run), style: `${colourOf(r)} solid` }));
    legend.append(switches("Runs", entries, turn("run")));
  }
  const quantities = known.map(({ key, name, dash }, q) => ({ key, name, style: `${alone ? colourOf(q) : "ink"} ${dash}` }));
  legend.append(switches("Quantities", quantities, turn("quantity")));
  const logarithmic = [{ key: "log", name: "logarithmic steps and time", on: false }];
  legend.append(switches("Axes", logarithmic, (_, on) => plots.forEach(({ plot }) => plot.setLog("x", on))));
  const caption =
    "Losses and error against steps and against training time without compilation." +
    STAGES.filter(({ kind }) => stages.some((stage) => stage.kind === kind)).map(({ words }) => ` ${words}`).join("");
  host.append(figure(caption, legend, make("div", { class: "pair" }, plots.map(({ plot }) => plot.element))));
  update();
  showTraces(host, runs, alone);
}

// Where the curves of a run jump: bands in which it sketches, lines where it begins anew or a stretch of time ends.
function stagesOf(run, r, alone) {
  const style = alone ? "" : colourOf(r);
  return [
    ...run.sketch.map(([from, to]) => ({ kind: "sketch", run: r, style, from, to })),
    ...run.anew.map((from) => ({ kind: "anew", run: r, style, from })),
    ...run.stretches.map((from) => ({ kind: "stretches", run: r, style, from })),
  ];
}

function stageInTime(line, stage) {
  if (!line) return stage;
  const at = (step) => line.seconds[nearest(line.step, step)];
  return { ...stage, from: at(stage.from), to: stage.to === undefined ? undefined : at(stage.to) };
}

function showTraces(host, runs, alone) {
  const kinds = new Map(runs.flatMap((run) => run.traces.map((trace) => [trace.key, trace])));
  if (!kinds.size) return;
  const plots = [...kinds.values()].map(({ key, label, log }) => {
    const plot = new LinePlot({
      label: `${label} against step`,
      x: { label: "step", log: false },
      y: { label, log, whole: !log },
      height: 200,
      decimals: 0,
    });
    const lines = runs.flatMap((run, r) =>
      run.traces
        .filter((trace) => trace.key === key)
        .map((trace) => ({
          name: alone ? label : run.letter,
          style: `${alone ? "ink" : colourOf(r)} thin`,
          x: decode(trace.step),
          y: decode(trace.value),
        })),
    );
    plot.show(lines);
    return plot.element;
  });
  host.append(figure("What the method did at every step.", make("div", { class: "panels" }, plots)));
}

function showSpectra(host, runs) {
  const known = runs.filter((run) => run.spectrum);
  if (!known.length) return;
  host.hidden = false;
  const decoded = known.map((run) => decode(run.spectrum));
  const colours = ColourScale.ofMagnitude(decoded);
  const [low] = extent(decoded, isPositive) || [colours.scale.low];
  // Singular values spread over more decades than errors do, and all of them matter.
  const wide = new ColourScale("level", Math.max(low, colours.scale.high * 1e-17), colours.scale.high, true);
  const panels = known.map((run, k) => {
    const { steps, places } = run.spectrum;
    const first = steps[0];
    const last = Math.max(first + 1, steps[steps.length - 1]);
    const rows = places.length;
    const columns = Math.min(WIDEST_SPECTRUM, last - first + 1);
    // Looks are rare: every column shows the nearest one.
    const looks = Array.from({ length: columns }, (_, i) => nearest(steps, first + ((last - first) * i) / (columns - 1)));
    const values = new Float32Array(rows * columns);
    // The largest on top.
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j < rows; j++) values[(rows - 1 - j) * columns + i] = decoded[k][looks[i] * rows + j];
    }
    const panel = new MapPanel({
      title: runs.length > 1 ? nameOf(run) : "Singular values of J",
      label: "Singular values of J over steps",
      onpoint: (cursor) => panel.point(cursor),
    });
    panel.show({
      values,
      columns,
      rows,
      free: true,
      aspect: runs.length > 1 ? 0.7 : 0.42,
      smooth: false,
      colours: wide,
      name: "σ",
      horizontal: { name: "step", low: first, high: last, values: looks.map((look) => steps[look]) },
      vertical: {
        name: "place",
        label: "place in the spectrum",
        low: 1,
        high: 0,
        values: [...places].reverse(),
        step: 0.01,
      },
    });
    return panel.element;
  });
  const caption =
    "Singular values of the features J, from the largest (place 0) to the smallest (place 1), with logarithmic " +
    "colours. They were looked at now and then; every step shows the nearest look.";
  host.append(figure(caption, make("div", { class: known.length > 1 ? "panels" : "wide" }, panels)));
}
