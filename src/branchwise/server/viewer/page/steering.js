// What a person can do to a run that goes on: shown only where the server says that this run can be steered.

import { el } from "./text.js";

async function act(page, what, button) {
  button.disabled = true;
  try {
    await page.source.steer(page.run.id, what);
    page.say("Done.");
    await page.refresh();
  } catch (error) {
    page.say(error.message, true);
  } finally {
    button.disabled = false;
  }
}

function button(page, label, title, what) {
  return el(
    "button",
    { type: "button", title, onclick: ({ currentTarget }) => act(page, typeof what === "function" ? what() : what, currentTarget) },
    label,
  );
}

function steered(page) {
  return Boolean(page.state.live && page.state.steering && !page.run.end);
}

/** Acts on the whole run, for the bar above its tree; null where it cannot be steered. */
export function runActs(page) {
  if (!steered(page)) return null;
  const amount = el("input", { type: "number", min: 1, value: 20, ariaLabel: "Calls to add", className: "amount" });
  return el(
    "div.steer",
    { role: "group", ariaLabel: "Steer the run" },
    page.state.paused
      ? button(page, "Go on", "Let the search go on", { act: "go_on" })
      : button(page, "Pause", "Start no further step", { act: "pause" }),
    el(
      "span.together",
      {},
      amount,
      button(page, "Raise budget", "Allow so many more calls", () => ({ act: "budget", budget: { calls: Number(amount.value) } })),
    ),
  );
}

/** Acts on one thought, for its panel; null where the run cannot be steered. */
export function nodeActs(node, page) {
  if (!steered(page) || node.mergedInto) return null;
  const here = { node: node.birth };
  const keep = ({ target }) => (node.draft = target.value);
  const own = el("textarea", {
    rows: 2,
    placeholder: "A thought of your own, as the next step from here",
    ariaLabel: "A thought of your own",
    value: node.draft ?? "",
    oninput: keep,
  });
  return el(
    "div.steer.node",
    { role: "group", ariaLabel: "Steer this thought" },
    el(
      "div",
      {},
      node.parent ? button(page, "Prune", "Make no further call below this thought", { act: "prune", ...here }) : null,
      node.parent ? button(page, "Favour", "Expand this thought next", { act: "favour", ...here }) : null,
      node.parent ? button(page, "Approve as the answer", "End the run with this thought", { act: "approve", ...here }) : null,
    ),
    el(
      "div.together",
      {},
      own,
      button(page, "Add", "Add this thought below", () => ({ act: "add", ...here, thought: own.value })),
    ),
  );
}
