// The panel of a whole run: problem, end, path of the answer, cost by role, settings.

import { whole } from "./details.js";
import { endText } from "./ends.js";
import { KINDS, mark } from "./marks.js";
import { nodeActs } from "./steering.js";
import { begin, count, dollars, el, oneLine, plural, prose, seconds, valueText } from "./text.js";

/** Acts of a person in words. */
export const ACTS = {
  pause: "paused",
  go_on: "went on",
  prune: "pruned",
  favour: "favoured",
  add: "added to",
  approve: "approved",
  budget: "raised the budget:",
};

/** How a run stands, as a word and a class: live, paused, solved, answered, unanswered, failed, unfinished. */
export function standing(run, state) {
  if (!run.end && (state.paused || (state.live && run.paused))) return ["paused", "paused"];
  if (!run.end) return state.live ? ["running", "live"] : ["not finished", "unfinished"];
  if (run.end.solved) return ["solved", "solved"];
  if (run.end.reason === "failed") return ["failed", "failed"];
  return run.end.answer ? ["answered", "answered"] : ["no answer", "unanswered"];
}

/** The panel of the run in `page`. */
export function overview(page) {
  const { run } = page;
  if (!run.started) return el("div.panel", {}, el("p.muted", {}, "Waiting for the first event …"));
  const problem = run.started.run?.problem;
  const prompt = problem && typeof problem === "object" && "prompt" in problem ? problem.prompt : problem;
  return el(
    "div.panel",
    {},
    el(
      "section",
      {},
      el("h3", {}, "Problem"),
      prose(prompt, () => whole(page, [run.started.at, "run", "problem", "prompt"]), "thought"),
    ),
    nodeActs(run.root, page),
    ending(page),
    pathOf(page),
    cost(run),
    counted(run),
    acted(page),
    notes(run),
    settings(run),
  );
}

function ending(page) {
  const { run } = page;
  const end = run.end;
  if (!end)
    return el(
      "section",
      {},
      el("h3", {}, "Answer"),
      el("p.muted", {}, page.state.live ? "The search goes on." : "This run was not finished. Go on with: branchwise solve --resume TRACE"),
    );
  const solved =
    end.solved === true
      ? "Proven by the rules of the task."
      : end.solved === false
        ? end.answer
          ? "Not a solution by the rules of the task."
          : ""
        : end.answer
          ? "No program can tell whether it is right."
          : "";
  return el(
    "section",
    {},
    el("h3", {}, "Answer"),
    end.answer ? prose(end.answer, () => whole(page, [end.at, "answer"]), "final") : el("p.final.none", {}, "none"),
    el("p.muted", {}, `${solved} Stopped: ${endText(run)}.`.trim()),
    end.error ? el("p.bad", {}, oneLine(begin(end.error), 600)) : null,
  );
}

function pathOf(page) {
  const path = page.run.answer?.path ?? [];
  if (!path.length) return null;
  const shown = path.slice(0, 30);
  return el(
    "section",
    {},
    el("h3", {}, "Path of the answer"),
    el(
      "ol.trail",
      {},
      shown.map((node) =>
        el(
          "li",
          { value: node.depth },
          el(
            "button.step",
            { type: "button", onclick: () => page.go(node) },
            el("bdi", {}, oneLine(node.text, 120)),
            el("span.muted", {}, ` ${valueText(node.value)}`),
          ),
        ),
      ),
    ),
    path.length > 30 ? el("p.muted", {}, `… and ${path.length - 30} more`) : null,
  );
}

function cost(run) {
  const rows = [...run.byRole.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  if (!rows.length) return null;
  const total = run.spent;
  const line = (name, spent, tag) => {
    const share = total.prompt + total.completion ? (spent.prompt + spent.completion) / (total.prompt + total.completion) : 0;
    const bar = el("i.share", { ariaHidden: "true" });
    bar.style.width = `${Math.round(share * 100)}%`;
    return el(
      "tr",
      {},
      el(tag, tag === "th" ? { scope: "row" } : {}, oneLine(name, 30), name === "total" ? null : bar),
      [spent.calls, spent.prompt, spent.completion].map((number) => el("td", {}, count(number))),
      el("td", {}, dollars(spent.cost === null ? null : spent.cost / 1e6)),
    );
  };
  return el(
    "section",
    {},
    el("h3", {}, "Cost by role"),
    el(
      "table.cost",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["role", "calls", "prompt", "reply", "cost"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map(([role, spent]) => line(role, spent, "th")),
      ),
      el("tfoot", {}, line("total", total, "th")),
    ),
    el(
      "p.muted",
      {},
      `Tokens of prompts and replies${total.estimated ? ", estimated" : ""}${total.cached ? `; ${count(total.cached)} prompt tokens came from the prefix cache` : ""}. Model time ${seconds(run.seconds)}.`,
    ),
  );
}

function counted(run) {
  const counts = run.counts;
  const rows = Object.entries(run.kinds).filter(([kind, number]) => number || kind === "kept");
  return el(
    "section",
    {},
    el("h3", {}, `${plural(counts.generated, "thought")} generated`),
    el(
      "ul.counts",
      {},
      rows.map(([kind, number]) =>
        el(
          "li",
          { title: KINDS[kind].means },
          mark(kind),
          `${count(number)} ${kind === "dead" && number !== 1 ? "dead ends" : KINDS[kind].word}`,
        ),
      ),
      el("li.muted", {}, `${count(counts.dropped)} dropped`),
    ),
    run.unparsed ? el("p.muted", {}, `${plural(run.unparsed, "judgement")} gave no value.`) : null,
  );
}

function acted(page) {
  const { acts } = page.run;
  if (!acts.length) return null;
  const line = ({ act, node, text, budget, by, after }) => {
    const more =
      act === "add"
        ? `: ${oneLine(text, 200)}`
        : Object.entries(budget)
            .map(([name, limit]) => ` ${oneLine(name, 20)} to ${oneLine(limit, 20)}`)
            .join(",");
    const where = node
      ? el("button.link", { type: "button", onclick: () => page.go(node) }, node.label ? `thought ${node.label}` : "the problem")
      : null;
    return el(
      "li",
      {},
      `${ACTS[act] ?? oneLine(act, 20)} `,
      where,
      more,
      el("span.muted", {}, ` ${by ? `by ${oneLine(by, 40)}, ` : ""}after step ${after}`),
    );
  };
  return el("section", {}, el("h3", {}, "Acts of a person"), el("ul.plain", {}, acts.slice(-100).map(line)));
}

function notes(run) {
  const lines = [
    ...run.warnings.map((text) => oneLine(text, 400)),
    ...run.failures.slice(-3).map(([, text]) => `A step failed: ${oneLine(text, 300)}`),
    ...run.others.slice(-20).map(other),
  ];
  return lines.length
    ? el(
        "section",
        {},
        el("h3", {}, "Notes"),
        el(
          "ul.plain",
          {},
          lines.map((text) => el("li", {}, text)),
        ),
      )
    : null;
}

/** An event of a kind that this page does not know, such as an act of a person. */
function other(event) {
  const { event: kind, at, ...rest } = event;
  return `${oneLine(kind, 40)}: ${oneLine(
    Object.entries(rest)
      .map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`)
      .join(", "),
    300,
  )}`;
}

function settings(run) {
  const { run: what, about } = run.started;
  const rows = [
    ["Method", what.method?.name ?? what.method],
    ["Model", what.model],
    ["Seed", what.seed],
    ["Window", what.window >= 1 << 30 ? "a whole level" : what.window],
  ];
  rows.push(
    [
      "Budget",
      Object.entries(about?.budget ?? {})
        .map(([name, limit]) => `${name} ${limit}`)
        .join(", ") || "no limit",
    ],
    ["In parallel", about?.parallel],
  );
  for (const part of ["generate", "evaluate", "search"]) if (what.method?.[part]) rows.push([part, flat(what.method[part])]);
  if (run.starts.length > 1) rows.push(["Started", `${run.starts.length} times; the tree is that of the last`]);
  return el(
    "section",
    {},
    el("h3", {}, "Settings"),
    el(
      "dl",
      {},
      rows
        .filter(([, text]) => text !== undefined && text !== null)
        .flatMap(([name, text]) => [el("dt", {}, name), el("dd", { dir: "auto" }, oneLine(begin(text), 300))]),
    ),
  );
}

function flat(part) {
  if (part === null || typeof part !== "object") return begin(part) || String(part);
  if (Array.isArray(part)) return part.map(flat).join(" ");
  const { is, ...rest } = part;
  const words = Object.entries(rest)
    .filter(([, value]) => value !== null && value !== false && value !== "" && !(Array.isArray(value) && !value.length))
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${flat(value)}`)
    .join(", ");
  return is && is !== "Sampling" ? `${begin(is)}${words ? ` (${words})` : ""}` : words;
}
