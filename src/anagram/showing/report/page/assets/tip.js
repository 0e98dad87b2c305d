// The small window that names the values under the cursor.

class Tip {
  constructor(host) {
    this.host = host;
    this.element = make("div", { class: "tip", hidden: true });
    // Maps move together; only the one in focus is read aloud.
    host.addEventListener("focus", () => this.element.setAttribute("aria-live", "polite"));
    host.addEventListener("blur", () => this.element.removeAttribute("aria-live"));
    host.append(this.element);
  }

  // Rows are {swatch, name, value, words, aside}; values are numbers, words stand in their place.
  show(x, y, heading, rows) {
    const lines = rows.map(({ swatch, name, value, words, aside }) =>
      make(
        "div",
        { class: "tip-row" },
        swatch || "",
        make("span", { class: "tip-name" }, name),
        make("span", { class: "tip-value" }, words || numberNodes(value, 5)),
        aside ? make("span", { class: "tip-aside" }, aside) : "",
      ),
    );
    this.element.replaceChildren(make("div", { class: "tip-head" }, heading), ...lines);
    this.element.hidden = false;
    const width = this.element.offsetWidth;
    const height = this.element.offsetHeight;
    const room = this.host.clientWidth;
    const left = x + 14 + width <= room ? x + 14 : x - 14 - width;
    this.element.style.left = `${Math.max(0, Math.min(left, room - width))}px`;
    this.element.style.top = `${Math.max(-8, Math.min(y - height / 2, this.host.clientHeight - height))}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

const swatch = (style) =>
  draw("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, draw("path", { class: `line ${style}`, d: "M1 5H25" }));
