// Two runs in numbers, one row a run. Knows no canvas.

import { standing } from "./overview.js";
import { begin, count, dollars, el, oneLine } from "./text.js";

const MEANS = {
  thoughts: "generated, dropped ones included",
  kept: "proven and undecided ones are counted apart",
  tokens: "of prompts and replies",
};
const LEFT = ["stands", "answer", "method", "model"];

/** The table that stands above two trees. Method and model are named only where they differ: each tree has them above it. */
export function comparison(panes) {
  const rows = panes.map(facts);
  const names = Object.keys(rows[0]).filter((name) => !["method", "model"].includes(name) || rows[0][name] !== rows[1][name]);
  const cell = (row, other, name) =>
    el(
      "td",
      { className: `${LEFT.includes(name) ? "left" : ""} ${row[name] === other[name] ? "" : "differs"}`, title: row[name] },
      el("bdi", {}, row[name]),
    );
  const shared = panes.every(({ run }) => run.started) && asked(panes[0].run) === asked(panes[1].run);
  return el(
    "div.comparison",
    {},
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th.left"),
          names.map((name) => el("th", { scope: "col", className: LEFT.includes(name) ? "left" : "", title: MEANS[name] }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row, at) =>
          el(
            "tr",
            {},
            el("th.left", { scope: "row" }, at ? "right" : "left"),
            names.map((name) => cell(row, rows[1 - at], name)),
          ),
        ),
      ),
    ),
    shared ? null : el("p.muted", {}, "These runs were given different problems."),
  );
}

function asked(run) {
  const problem = run.started.run?.problem;
  return begin(problem && typeof problem === "object" ? problem.prompt : problem);
}

function facts({ run, state }) {
  const what = run.started?.run ?? {};
  const { spent, counts, kinds } = run;
  return {
    stands: standing(run, state)[0],
    answer: oneLine(begin(run.end?.answer), 60) || "none",
    method: oneLine(begin(what.method?.name ?? what.method), 30),
    model: oneLine(begin(what.model), 30),
    calls: count(spent.calls),
    tokens: count(spent.prompt + spent.completion),
    cost: dollars(spent.cost === null ? null : spent.cost / 1e6),
    thoughts: count(counts.generated),
    kept: count(kinds.kept),
    proven: count(kinds.solved),
    undecided: count(kinds.undecided),
    pruned: count(kinds.pruned),
    "dead ends": count(kinds.dead),
    merged: count(counts.merged),
  };
}
