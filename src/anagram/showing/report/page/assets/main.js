// The page: its navigation, its colours, its copy buttons, and all plots.

function showNavigation() {
  const nav = document.querySelector("header.top nav");
  for (const section of document.querySelectorAll("main > section")) {
    if (!section.hidden) nav.append(make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  }
}

// The reader's system decides, until the button is pressed.
function offerThemes() {
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${dark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file may not be allowed to: select the text and ask the old way.
    const area = make("textarea", { class: "away" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function offerCopies() {
  for (const button of document.querySelectorAll("button.copy")) {
    const source = button.dataset.copies === "next" ? button.nextElementSibling : button.previousElementSibling;
    button.addEventListener("click", async () => {
      button.textContent = (await copy(source.textContent)) ? "Copied" : "Copying is not allowed";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }
}

const { runs } = JSON.parse(document.getElementById("data").textContent);
offerThemes();
offerCopies();
showFields(document.getElementById("fields"), runs);
showLadders(document.getElementById("ladder"), runs);
showConvergence(document.getElementById("convergence"), runs);
showSpectra(document.getElementById("spectrum"), runs);
showNavigation();
document.documentElement.dataset.ready = "true";
