// Two runs in numbers, one row a run. Knows no canvas.

import { standing } from "./overview.js";
import { begin, count, dollars, el, oneLine } from "./text.js";

/** The table that stands above two trees. */
export function comparison(panes) {
  const names = ["", "stands", "answer", "method", "model", "calls", "tokens", "cost", "thoughts", "kept", "pruned", "dead", "merged"];
  const rows = panes.map(facts);
  const shared = panes.every(({ run }) => run.started) && asked(panes[0].run) === asked(panes[1].run);
  return el("div.comparison", {}, el("table", {}, el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row, at) => el("tr", {}, el("th", { scope: "row" }, at ? "right" : "left"), row.map((text, column) => el("td", { className: text === rows[1 - at][column] ? "" : "differs", dir: column === 1 ? "auto" : "" }, text)))))),
    shared ? null : el("p.muted", {}, "These runs were given different problems."));
}

function asked(run) {
  const problem = run.started.run?.problem;
  return begin(problem && typeof problem === "object" ? problem.prompt : problem);
}

function facts({ run, state }) {
  const what = run.started?.run ?? {};
  const { spent, counts } = run;
  return [standing(run, state)[0], oneLine(begin(run.end?.answer), 60) || "none", oneLine(begin(what.method?.name ?? what.method), 30), oneLine(begin(what.model), 30), count(spent.calls), count(spent.prompt + spent.completion),
    dollars(spent.cost === null ? null : spent.cost / 1e6), count(counts.generated), count(counts.kept), count(counts.pruned), count(counts.dead), count(counts.merged)];
}
