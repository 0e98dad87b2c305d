// What a reader can set: switches, choices, sliders and a player.

// Buttons that stay pressed; each is {key, name, style, on}.
function switches(title, entries, onchange) {
  const buttons = entries.map((entry) =>
    make(
      "button",
      {
        type: "button",
        class: "switch",
        "aria-pressed": String(entry.on !== false),
        "data-key": entry.key,
        onclick: (event) => {
          const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
          event.currentTarget.setAttribute("aria-pressed", String(on));
          onchange(entry.key, on);
        },
      },
      entry.style ? swatch(entry.style) : "",
      entry.name,
    ),
  );
  return make("div", { class: "switches", role: "group", "aria-label": title }, buttons);
}

// A choice out of a list of {key, name}.
function choice(title, entries, chosen, onchange) {
  const id = newId("choice");
  const select = make(
    "select",
    { id, onchange: (event) => onchange(event.currentTarget.value) },
    entries.map(({ key, name }) => make("option", { value: key, selected: key === chosen }, name)),
  );
  return make("div", { class: "control" }, make("label", { for: id }, title), select);
}

// A slider over the samples of an axis; with a button that plays it if asked for.
class Slider {
  constructor(axis, count, index, onchange, { player = false, seconds = 6 } = {}) {
    Object.assign(this, { axis, count, onchange, seconds, timer: null });
    const id = newId("slider");
    this.input = make("input", {
      type: "range",
      id,
      min: 0,
      max: count - 1,
      step: 1,
      value: index,
      "data-axis": axis.name,
      oninput: () => {
        this.stop();
        this.changed();
      },
    });
    this.output = make("output", { for: id });
    this.element = make("div", { class: "control slider" }, make("label", { for: id }, axis.name), this.input, this.output);
    if (player) {
      this.button = make("button", { type: "button", class: "play", onclick: () => (this.timer ? this.stop() : this.play()) });
      this.element.prepend(this.button);
      this.label();
    }
    this.tell();
  }

  get index() {
    return Number(this.input.value);
  }

  tell() {
    const text = coordinateOf(this.axis, this.index, this.count);
    this.output.textContent = text;
    this.input.setAttribute("aria-valuetext", `${this.axis.name} = ${text}`);
  }

  label() {
    this.button.textContent = this.timer ? "❚❚ Pause" : "▶ Play";
    this.button.setAttribute("aria-label", `${this.timer ? "Pause" : "Play"} the animation over ${this.axis.name}`);
  }

  changed() {
    this.tell();
    this.onchange(this.index);
  }

  // From where it stands, over and over.
  play() {
    let start = null;
    const first = this.index >= this.count - 1 ? 0 : this.index;
    const frame = (now) => {
      start ??= now;
      const gone = ((now - start) / (1000 * this.seconds)) * (this.count - 1);
      const index = Math.floor(first + gone) % this.count;
      if (index !== this.index) {
        this.input.value = index;
        this.changed();
      }
      this.timer = requestAnimationFrame(frame);
    };
    this.timer = requestAnimationFrame(frame);
    this.label();
  }

  stop() {
    if (this.timer) cancelAnimationFrame(this.timer);
    this.timer = null;
    if (this.button) this.label();
  }
}

function figure(caption, ...content) {
  return make("figure", {}, content, make("figcaption", {}, caption));
}
