// Values of a trace as they should be, whatever the file says. Knows no tree.

import { begin } from "./text.js";

export const list = (value) => (Array.isArray(value) ? value : []);
export const number = (value) => (typeof value === "number" ? value : 0);
export const object = (value) => (value !== null && typeof value === "object" ? value : {});
export const known = (value) => (typeof value === "number" ? value : null);

/** A call as the page uses it, whatever the file says. */
export function tidy(event) {
  const samples = list(event.samples)
    .filter((sample) => sample !== null && typeof sample === "object")
    .map(({ text, reasoning, outcome, error, usage }) => ({
      text,
      reasoning,
      outcome: begin(outcome),
      error: begin(error),
      usage: {
        calls: number(usage?.calls),
        requests: number(usage?.requests),
        prompt: number(usage?.prompt_tokens),
        cached: number(usage?.cached_prompt_tokens),
        completion: number(usage?.completion_tokens),
        cost: usage?.cost_usd === null ? null : Math.round(number(usage?.cost_usd) * 1e6),
        estimated: Boolean(usage?.estimated),
      },
    }));
  const { at, occurrence, fault, model, limit, error } = event;
  return {
    at,
    role: begin(event.role),
    samples,
    seconds: number(event.seconds),
    occurrence: number(occurrence),
    fault: Boolean(fault),
    model: begin(model),
    limit: number(limit),
    error: begin(error),
  };
}
