// The rungs of runs that were to reach a tolerance: errors against the size of networks and against time.

const RUNG_QUANTITIES = [
  { key: "residual", name: "residual on fresh points", dash: "thin", colour: 8 },
  { key: "estimate", name: "estimated relative error", dash: "solid", colour: 2 },
  { key: "error", name: "true relative error", dash: "dotted", colour: 3, radius: 2.6 },
];

function showLadders(host, runs) {
  const known = runs.filter((run) => run.ladder);
  if (!known.length) return;
  host.hidden = false;
  const alone = runs.length === 1;
  const shown = alone ? RUNG_QUANTITIES : RUNG_QUANTITIES.filter(({ key }) => key === "estimate");
  const plots = [
    { field: "parameters", label: "parameters", decimals: 0, joined: false, log: true },
    { field: "seconds", label: "training time (s)", xName: "time", joined: true, log: false },
  ].map(({ field, label, decimals, xName, joined, log }) => {
    const plot = new LinePlot({
      label: `Errors of the rungs against ${label}`,
      x: { label, log },
      y: { label: "relative error", log: true },
      height: 280,
      xName,
      decimals,
      digits: 3,
    });
    const lines = known.flatMap((run) => ladderLines(run, runs.indexOf(run), field, shown, joined, alone));
    const [low, high] = extent(lines.map((line) => line.x)) || [0, 1];
    // A little room on both sides, or the first and the last rung lie on the frame.
    const from = log ? low / 1.15 : 0;
    const to = log ? high * 1.15 : high * 1.03;
    const tolerances = [...new Set(known.map((run) => run.ladder.tol).filter((tol) => tol !== null))];
    const across = tolerances.map((tol) => ({ style: "c1 dashed", x: [from, to], y: [tol, tol], quiet: true }));
    plot.element.dataset.against = field;
    plot.show([...across, ...lines]);
    return plot.element;
  });
  const entries = [...(alone ? RUNG_QUANTITIES.filter(({ key }) => known[0].ladder.curves[key]) : [])].map(
    ({ name, dash, colour }) => ({ name, style: `c${colour} ${dash}` }),
  );
  if (!alone) {
    for (const run of known) entries.push({ name: nameOf(run), style: `${colourOf(runs.indexOf(run))} solid` });
  }
  if (known.some((run) => run.ladder.tol !== null)) entries.push({ name: "tolerance", style: "c1 dashed" });
  const legend = make(
    "div",
    { class: "controls" },
    entries.map(({ name, style }) => make("span", { class: "key" }, swatch(style), name)),
  );
  const caption = alone
    ? "Every rung is one network, trained from scratch: its residual on fresh points, its estimated error and, where the solution is known, its true error."
    : "Every rung is one network, trained from scratch: its estimated error.";
  host.append(figure(caption, legend, make("div", { class: "pair" }, plots)));
}

function ladderLines(run, index, field, quantities, joined, alone) {
  const places = decode(run.ladder[field]);
  const order = [...places.keys()].sort((a, b) => places[a] - places[b]);
  return quantities
    .filter(({ key }) => run.ladder.curves[key])
    .map(({ key, name, dash, colour, radius }) => {
      const values = decode(run.ladder.curves[key]);
      const kept = order.filter((k) => values[k] > 0);
      return {
        name: alone ? name : `${run.letter}  ${name}`,
        style: `${alone ? `c${colour}` : colourOf(index)} ${dash}`,
        dots: radius || 5,
        joined,
        x: kept.map((k) => places[k]),
        y: kept.map((k) => values[k]),
      };
    });
}
