// Light, dark, or as the system has it. Knows no run.

import { el, icon } from "./text.js";

const DARK = matchMedia("(prefers-color-scheme: dark)");
const PICTURES = {
  auto: "M8 2a6 6 0 100 12A6 6 0 008 2zM8 2v12M10 4v8M12 6v4",
  light: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1M8 14v1M1 8h1M14 8h1M3 3l.7.7M12.3 12.3l.7.7M3 13l.7-.7M12.3 3.7L13 3",
  dark: "M13 10A6 6 0 016 3a6 6 0 107 7z",
};
const THEMES = Object.keys(PICTURES);
const PLACE = "branchwise-theme";

/** The choice of the user, kept by the browser where it lets us; `changed` is called when the colours change. */
export class Theme {
  constructor(changed) {
    this.changed = changed;
    this.button = el("button", { type: "button", onclick: () => this.choose(THEMES[(THEMES.indexOf(this.name) + 1) % THEMES.length]) });
    DARK.addEventListener("change", () => this.choose(this.name));
    this.choose(held());
  }

  choose(name) {
    this.name = THEMES.includes(name) ? name : "auto";
    document.documentElement.dataset.theme = this.name === "auto" ? (DARK.matches ? "dark" : "light") : this.name;
    held(this.name);
    this.button.title = `Theme: ${this.name}. Click to change.`;
    this.button.setAttribute("aria-label", `Theme: ${this.name}`);
    this.button.replaceChildren(icon(PICTURES[this.name]));
    this.changed();
  }
}

function held(value) {
  try {
    return value === undefined ? localStorage.getItem(PLACE) : localStorage.setItem(PLACE, value);
  } catch {
    return null;
  }
}
