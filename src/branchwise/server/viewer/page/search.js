// Finding text in the thoughts, the reasons of their values, and the replies of the model.

import { begin } from "./text.js";

/** The thoughts that `words` were found at, in order of birth, each with whether its own text holds them; null for nothing to look for. */
export function find(run, words) {
  const wanted = words.toLowerCase().trim();
  if (!wanted) return null;
  const found = new Map();
  const replies = new Map();
  const said = (call) => {
    if (!replies.has(call))
      replies.set(
        call,
        call.samples
          .map((sample) => begin(sample.text))
          .join("\n")
          .toLowerCase(),
      );
    return replies.get(call);
  };
  for (const node of [...run.nodes, ...run.merges]) {
    node.haystack ??= `${node.label}\n${begin(node.text)}`.toLowerCase();
    const here =
      node.haystack.includes(wanted) ||
      begin(node.reason).toLowerCase().includes(wanted) ||
      begin(node.fateReason).toLowerCase().includes(wanted);
    if (here || (run.calls.get(node.label) ?? []).some((call) => !node.mergedInto && said(call).includes(wanted))) found.set(node, here);
  }
  return found;
}
