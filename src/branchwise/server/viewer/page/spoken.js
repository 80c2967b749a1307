// A thought in words, for people who hear the page.

import { KINDS } from "./marks.js";
import { oneLine, valueText } from "./text.js";

/** The whole of a thought's card for people who hear the page. */
export function spoken(node) {
  if (!node.parent) return "The problem, where the tree begins";
  const words = [
    node.label,
    KINDS[node.kind].word,
    node.mergedInto ? `same as ${node.mergedInto.label}` : `value ${valueText(node.value)}`,
  ];
  if (node.role === "person") words.push("a person's thought");
  if (node.onPath) words.push("on the path of the answer");
  return `${words.join(", ")}: ${oneLine(node.text)}${node.children.length ? `. ${node.children.length === 1 ? "1 child" : `${node.children.length} children`}` : ""}`;
}
