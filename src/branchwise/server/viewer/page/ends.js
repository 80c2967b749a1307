// Why a run ended, in words: those of cli/ends.py.

import { begin } from "./text.js";

const REASONS = {
  solved: "a solution was proven",
  exhausted: "nothing was left to try",
  max_depth: "the search reached its depth",
  approved: "a person approved the answer",
  cancelled: "interrupted",
  failed: "something broke",
};

/** Methods of one level go no deeper whatever came of it: what is said with an answer, and without one. */
const SHALLOW = {
  io: ["its one reply was made", "its one reply held no answer"],
  cot: ["its one reply was made", "its one reply held no answer"],
  cot_sc: ["all its replies were made", "none of its replies held an answer"],
  best_of_n: ["all its replies were made", "none of its replies held an answer"],
};

/** A stop reason in words, of a run of `method` that has an answer, or has none. */
export function reasonText(stop, method = "", answered = true) {
  const [kind, limit] = String(stop).split(":");
  if ((stop === "max_depth" || stop === "exhausted") && Object.hasOwn(SHALLOW, String(method))) return SHALLOW[method][answered ? 0 : 1];
  return kind === "budget" ? `the limit on ${limit} was reached` : (REASONS[stop] ?? stop);
}

/** Why `run` ended, in words. */
export function endText(run) {
  const method = run.started?.run?.method;
  return reasonText(begin(run.end.reason), method?.name ?? method, Boolean(run.end.answer));
}
