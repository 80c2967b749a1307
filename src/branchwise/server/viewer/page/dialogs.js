// What is said apart from any run: the keys, the question for a token, and the first words.

import { el, icon } from "./text.js";

const KEYS = [
  ["← → ↑ ↓", "parent, child, the thought above, the one below"],
  ["Enter", "read the selected thought"],
  ["Home", "the problem"],
  ["A", "the answer"],
  ["/", "search; Enter and Shift+Enter go through what was found"],
  ["N, P", "next and previous match"],
  ["+ − 0", "larger, smaller, actual size"],
  ["F", "all of the tree"],
  ["Tab", "between the two trees, the list and the panel"],
  ["Esc", "back to the tree; clear the search"],
  ["?", "this help"],
];

/** Show all keys. */
export function showKeys(dialog) {
  const pairs = KEYS.flatMap(([key, what]) => [el("dt", {}, key), el("dd", {}, what)]);
  const mouse =
    "Drag or scroll to move; Ctrl and scroll, or pinch, to scale. Ctrl and click on a run in the list shows it beside the present one.";
  const close = el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close"));
  dialog.replaceChildren(el("h2", {}, "Keys"), el("dl.keys", {}, pairs), el("p.muted", {}, mouse), close);
  dialog.showModal();
}

/** Ask for the server's token, keep it for this tab, and go on. */
export function askToken(dialog, then) {
  if (dialog.open) return;
  const field = el("input", { type: "password", ariaLabel: "Token", autocomplete: "off", required: true });
  const onsubmit = () => {
    sessionStorage.setItem("branchwise-token", field.value.trim());
    then();
  };
  dialog.replaceChildren(
    el("h2", {}, "This server asks for a token"),
    el("p.muted", {}, "It is kept in this tab only, and sent to this server only."),
    el("form", { method: "dialog", onsubmit }, field, el("button", {}, "Go on")),
  );
  dialog.showModal();
}

/** What stands where no run is chosen. */
export function welcome() {
  return el(
    "div.welcome",
    {},
    icon("M2 8h4c3 0 2-5 5-5h3M6 8c3 0 2 5 5 5h3"),
    el("h2", {}, "Choose a run"),
    el("p.muted", {}, "Its tree appears here, and grows while the run goes on. Ctrl and click on a second one shows both side by side."),
  );
}
