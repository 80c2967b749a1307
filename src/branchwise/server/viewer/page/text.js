// Elements, text and numbers. Everything that a model wrote goes through textContent, never through markup.

const ODD =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]+/gu;
const CHUNK = 8000;
const FIRST = 2000;

/** An element with properties and children; text children become text nodes. `on*` properties are listeners, `aria*` and `data*` attributes. */
export function el(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (/^(aria|data|role|for|colspan|scope)/.test(key))
      node.setAttribute(
        key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
        value,
      );
    else node[key] = value;
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** `text` with control, hidden and reordering characters written out: U+202E becomes `\u202e`. */
export function visible(text) {
  return String(text).replace(/\r\n/g, "\n").replace(ODD, written);
}

function written(odd) {
  let out = "";
  for (const one of odd) {
    const code = one.codePointAt(0);
    out +=
      code < 0x100
        ? `\\x${code.toString(16).padStart(2, "0")}`
        : code < 0x10000
          ? `\\u${code.toString(16).padStart(4, "0")}`
          : `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return out;
}

/** Text on one line of at most `most` characters. */
export function oneLine(text, most = 160) {
  const whole = begin(text);
  const line = visible(
    whole
      .slice(0, most * 4)
      .trim()
      .replace(/\s*\n\s*/g, " ⏎ ")
      .replace(/[ \t]+/g, " "),
  );
  return line.length > most || (line.length === most * 4 && whole.length > line.length) ? line.slice(0, most - 1) + "…" : line;
}

/** The beginning of a text of the trace, which may have been cut: `{cut, length}`. */
export function begin(text) {
  return typeof text === "string"
    ? text
    : text && typeof text.cut === "string"
      ? text.cut
      : text === null || text === undefined
        ? ""
        : String(text);
}

/** The number of characters of a text of the trace. */
export function size(text) {
  return typeof text === "string" || (text && typeof text.cut === "string" && typeof text.length === "number") ? text.length : 0;
}

/** Model text as a block of its own direction. A long one is cut; `all()` gives the whole. */
export function prose(text, all, kind = "prose") {
  const box = el(`div.${kind}`, { dir: "auto", tabIndex: -1 });
  const first = begin(text);
  fill(box, first.slice(0, FIRST).replace(/[\ud800-\udbff]$/, ""));
  const total = size(text);
  if (total <= FIRST) return box;
  const note = el("span.muted", {}, `First ${count(FIRST)} of ${count(total)} characters.`);
  const button = el("button.link", { type: "button", onclick: show }, "Show all");
  const foot = el("div.more", {}, note, " ", button);
  async function show() {
    button.disabled = true;
    note.textContent = "Loading …";
    try {
      const whole = typeof text === "string" ? text : await all();
      box.replaceChildren();
      for (const part of chunks(whole)) box.append(fill(el("div.chunk"), part));
      box.classList.add("whole");
      foot.replaceChildren(el("span.muted", {}, `All ${count(whole.length)} characters.`));
    } catch (error) {
      note.textContent = error.message;
      button.disabled = false;
    }
  }
  return el("div", {}, box, foot);
}

function fill(box, text) {
  const pieces = text.replace(/\r\n/g, "\n").split(ODD);
  if (pieces.length > 200 || pieces.length === 1) {
    box.append(visible(text));
    return box;
  }
  const odd = text.replace(/\r\n/g, "\n").match(ODD);
  pieces.forEach((piece, at) => {
    if (piece) box.append(piece);
    if (odd[at])
      box.append(el("span.odd", { title: "A character that is not seen, or that changes how others are shown" }, written(odd[at])));
  });
  return box;
}

function* chunks(text) {
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + CHUNK);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end);
      const blank = text.lastIndexOf(" ", end);
      if (line > at) end = line + 1;
      else if (blank > at) end = blank + 1;
      else if (/[\ud800-\udbff]/.test(text[end - 1])) end -= 1;
    }
    yield text.slice(at, end).replace(/\n$/, end < text.length ? "" : "\n");
    at = end;
  }
}

/** `12,345`. */
export function count(number) {
  return Number(number ?? 0).toLocaleString("en-US");
}

/** `1 call`, `2,000 calls`. */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A value in [0, 1] with two digits, three where they are needed; `?` for unknown. */
export function valueText(value) {
  if (value === null || value === undefined) return "?";
  return value < 0.01 || value > 0.99 ? String(Number(value.toPrecision(value < 0.01 ? 1 : 3))) : value.toFixed(2);
}

/** Dollars; `unknown` where there was no price. */
export function dollars(cost) {
  return cost === null || cost === undefined ? "unknown" : cost === 0 ? "$0" : cost < 1 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`;
}

/** `0.42 s`, `12.3 s`, `3 min 5 s`. */
export function seconds(time) {
  return time < 60 ? `${time.toFixed(time < 1 ? 2 : 1)} s` : `${count(Math.floor(time / 60))} min ${Math.floor(time % 60)} s`;
}

/** `just now`, `5 min ago`, or the date. */
export function ago(stamp) {
  const past = Date.now() / 1000 - stamp;
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return new Date(stamp * 1000).toLocaleDateString("en-CA");
}

/** A picture drawn with lines, from SVG path data of ours. */
export function icon(path, label = "") {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", label ? "false" : "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}
