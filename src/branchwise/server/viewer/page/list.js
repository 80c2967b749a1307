// The list of runs. Knows no tree.

import { reasonText } from "./ends.js";
import { ago, begin, dollars, el, oneLine, plural } from "./text.js";

const ORDER = {
  live: "running",
  paused: "paused",
  solved: "solved",
  answered: "answered",
  unanswered: "no answer",
  failed: "failed",
  unfinished: "not finished",
  broken: "cannot be read",
};

/** One word for how a listed run stands. */
export function stands(run) {
  if (run.error) return "broken";
  if (run.paused) return "paused";
  if (run.stop === null) return run.live ? "live" : "unfinished";
  if (run.solved) return "solved";
  if (run.stop === "failed") return "failed";
  return run.answer ? "answered" : "unanswered";
}

/** The list with its filter. `open(id)` shows a run, `compare(id)` puts it beside the present one. */
export class RunList {
  constructor(element, open, compare) {
    Object.assign(this, { element, open, compare });
    this.runs = null;
    this.filter = el("input", { type: "search", placeholder: "Filter runs", ariaLabel: "Filter runs", oninput: () => this.paint() });
    this.list = el("ul");
    this.note = el("div.note", { role: "status" });
    this.items = new Map();
    element.append(el("div.find", {}, this.filter), this.list, this.note);
    this.note.textContent = "Loading …";
  }

  show(runs, shown) {
    this.runs = runs;
    this.shown = shown;
    this.paint();
  }

  fail(message) {
    this.note.replaceChildren(el("p.bad", {}, message));
  }

  paint() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (run) =>
      words.every((word) =>
        [run.id, run.prompt, run.method, run.model, run.task, run.answer, ORDER[stands(run)]].join(" ").toLowerCase().includes(word),
      );
    const runs = (this.runs ?? []).filter(fits);
    const fresh = new Map();
    const rows = runs.map((run) => {
      const stamp = JSON.stringify([run, this.shown, ago(run.changed)]);
      const old = this.items.get(run.id);
      const row = old?.stamp === stamp ? old.row : this.row(run);
      fresh.set(run.id, { stamp, row });
      return row;
    });
    this.items = fresh;
    if (rows.length !== this.list.children.length || rows.some((row, at) => row !== this.list.children[at])) {
      const focus = this.list.contains(document.activeElement) ? document.activeElement.closest("li")?.dataset.id : null;
      this.list.replaceChildren(...rows);
      if (focus) fresh.get(focus)?.row.querySelector("button")?.focus();
    }
    this.note.replaceChildren(...(this.runs?.length ? (runs.length ? [] : [el("p.muted", {}, "No run fits the filter.")]) : [empty()]));
  }

  row(run) {
    const kind = stands(run);
    const at = this.shown.indexOf(run.id);
    const facts = [begin(run.method), run.task ? begin(run.task) : "", begin(run.model)]
      .map((text) => oneLine(text, 40))
      .filter(Boolean)
      .join(" · ");
    const numbers = [run.calls ? plural(run.calls, "call") : "", run.cost_usd ? dollars(run.cost_usd) : "", ago(run.changed)]
      .filter(Boolean)
      .join(" · ");
    return el(
      "li",
      { dataId: run.id, className: at >= 0 ? "shown" : "" },
      el(
        "button.run",
        {
          type: "button",
          onclick: (event) => (event.ctrlKey || event.metaKey || event.shiftKey ? this.compare(run.id) : this.open(run.id)),
          ariaCurrent: at === 0 ? "page" : null,
        },
        el(
          "span.line",
          {},
          el(`i.dot.${kind}`, { ariaHidden: "true" }),
          el("span.state", { title: run.stop ? reasonText(run.stop, run.method, Boolean(run.answer)) : "" }, ORDER[kind]),
          el("span.when.muted", {}, numbers),
        ),
        el("bdi.prompt", {}, oneLine(run.error ?? run.prompt, 110) || run.id),
        el("span.facts.muted", {}, facts || run.id),
      ),
      at === 0 || !this.shown.length
        ? null
        : el(
            "button.beside",
            { type: "button", title: "Show beside the present run", ariaLabel: "Compare", onclick: () => this.compare(run.id) },
            at > 0 ? "beside" : "compare",
          ),
    );
  }
}

function empty() {
  return el(
    "div.empty",
    {},
    el("p", {}, "No runs yet."),
    el("p.muted", {}, "Every run that writes its trace into this folder appears here by itself. Start one:"),
    el("code", {}, 'branchwise solve "4 9 10 13" --task game24'),
  );
}
