// One run on the screen: its head, its tree, the legend that also hides kinds, and the buttons of the view.

import { endText } from "./ends.js";
import { KINDS, mark, paintMark } from "./marks.js";
import { standing } from "./overview.js";
import { find } from "./search.js";
import { SourceError } from "./source.js";
import { runActs } from "./steering.js";
import { Run } from "./tree.js";
import { begin, count, el, icon, oneLine, plural } from "./text.js";
import { View } from "./view.js";

const PACE = 120;

/** `app` has source, chosen(pane, node, opened), changed(pane), closed(pane), token() and say(text, bad). */
export class Pane {
  constructor(app, id) {
    Object.assign(this, { app, id, source: app.source });
    this.run = new Run(id);
    this.state = { live: false, steering: false, paused: false };
    this.abort = new AbortController();
    this.view = new View((node, opened) => app.chosen(this, node, opened));
    this.view.onmoved = () => this.buttons();
    this.view.hides = (kind) => this.hidden.has(kind);
    this.hidden = new Set();
    this.head = el("div.pane-head");
    this.legend = el("div.legend", { role: "group", ariaLabel: "Show or hide kinds of thoughts" });
    this.tools = el("div.tools", { role: "group", ariaLabel: "View" });
    this.over = el("div.cover", { role: "status" });
    this.trouble = el("div.trouble", { role: "alert" });
    this.view.element.append(this.over, this.tools, this.trouble);
    this.element = el(
      "section.pane",
      { ariaLabel: `Run ${id}`, onfocusin: () => app.focused(this), onpointerdown: () => app.focused(this) },
      this.head,
      this.view.element,
      this.legend,
    );
    this.toolbar();
    this.cover(el("p.muted", {}, "Reading the trace …"));
    this.follow();
  }

  async follow() {
    try {
      const last = await this.source.follow(
        this.id,
        (events) => this.take(events),
        this.abort.signal,
        (text) => (this.trouble.textContent = text),
      );
      if (this.abort.signal.aborted) return;
      if (last.error) throw new Error(last.error);
      if (last.cut) this.run.warnings.push("The last line of the trace is cut (the run was killed while it wrote); it is left out.");
      this.read = true;
      this.paint();
      this.app.changed(this, true);
    } catch (error) {
      if (this.abort.signal.aborted) return;
      if (error instanceof SourceError && error.status === 401) this.app.token();
      const again = el("button", { type: "button", onclick: () => this.app.reload(this) }, "Try again");
      if (this.run.nodes.length > 1) this.trouble.replaceChildren(error.message, " ", again);
      else this.cover(el("p.bad", {}, error.message), again);
    }
  }

  take(events) {
    this.run.take(events);
    if (this.timer) return;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.paint();
        this.app.changed(this);
      },
      this.painted ? PACE : 0,
    );
  }

  /** Everything that depends on the run. */
  paint() {
    const { run } = this;
    this.painted = true;
    const prompt = run.started?.run?.problem;
    run.root.title = oneLine(prompt && typeof prompt === "object" ? prompt.prompt : prompt, 160);
    this.view.show(run);
    if (run.nodes.length > 1 || run.merges.length) this.cover();
    else if (run.end)
      this.cover(el("p", {}, "This run has no thoughts."), el("p.muted", {}, `It stopped: ${endText(run)}.`));
    else this.cover(el("p.muted", {}, this.read ? "This run has no thoughts yet." : "Waiting for the first thought …"));
    this.titles();
    this.counts();
    this.buttons();
    if (this.words) this.search(this.words, false);
  }

  cover(...parts) {
    this.over.replaceChildren(...parts);
    this.over.hidden = !parts.length;
  }

  /** What the server's list says of this run. */
  stands(state) {
    const before = JSON.stringify(this.state);
    this.state = { live: Boolean(state.live), steering: Boolean(state.steering), paused: Boolean(state.paused) };
    if (before === JSON.stringify(this.state)) return;
    this.titles();
    this.app.changed(this, true);
  }

  titles() {
    const { run } = this;
    const [word, kind] = standing(run, this.state);
    const what = run.started?.run ?? {};
    const spent = run.spent;
    const facts = [
      what.method?.name ?? what.method,
      run.started?.about.settings?.task_name ?? run.started?.about.settings?.task,
      what.model,
      what.seed === undefined ? "" : `seed ${what.seed}`,
    ]
      .map((text) => oneLine(begin(text), 50))
      .filter(Boolean);
    facts.push(plural(run.nodes.length - 1, "thought"), plural(spent.calls, "call"));
    const stamp = JSON.stringify([this.state, run.ended]);
    if (this.acted !== stamp) this.acts = runActs(this);
    this.acted = stamp;
    const title = el(
      "div.title",
      {},
      el("h2", { title: run.root.title }, el("bdi", {}, run.root.title || this.id)),
      el("p.muted", {}, el("span.state", {}, el(`i.dot.${kind}`, { ariaHidden: "true" }), word), " · ", facts.join(" · ")),
    );
    const close =
      this.app.panes.length > 1
        ? el(
            "button.close",
            { type: "button", title: "Close this run", ariaLabel: "Close this run", onclick: () => this.app.closed(this) },
            icon("M4 4l8 8M12 4l-8 8"),
          )
        : "";
    if (this.acts && this.head.contains(this.acts)) this.head.firstChild.replaceWith(title);
    else this.head.replaceChildren(title, this.acts ?? "", close);
  }

  counts() {
    const numbers = this.run.kinds;
    const stamp = JSON.stringify([numbers, [...this.hidden], Boolean(this.run.answer)]);
    if (this.counted === stamp) return;
    this.counted = stamp;
    this.legend.replaceChildren(
      ...Object.entries(KINDS)
        .filter(([kind]) => numbers[kind] || kind === "kept")
        .map(([kind, { word, means }]) => {
          const shown = !this.hidden.has(kind);
          return el(
            "button",
            {
              type: "button",
              className: shown ? "" : "off",
              title: `${means} Click to ${shown ? "hide" : "show"} those at the ends of branches.`,
              ariaPressed: String(shown),
              disabled: !numbers[kind],
              onclick: () => this.toggle(kind),
            },
            mark(kind),
            el("span", {}, word),
            el("b", {}, count(numbers[kind])),
          );
        }),
      this.run.answer ? el("span.key", {}, el("i.bar", { ariaHidden: "true" }), "path of the answer") : "",
    );
  }

  toggle(kind) {
    if (!this.hidden.delete(kind)) this.hidden.add(kind);
    this.view.show(this.run);
    this.counts();
    this.legend.querySelector(`[data-kind="${kind}"]`)?.parentElement.focus();
  }

  toolbar() {
    const tool = (title, path, act) => el("button", { type: "button", title, ariaLabel: title, onclick: act }, icon(path));
    this.pinned = el(
      "button.follow",
      {
        type: "button",
        title: "Keep the newest thoughts in view while the run grows",
        onclick: () => {
          this.view.home();
          this.buttons();
        },
      },
      "Follow",
    );
    this.tools.replaceChildren(
      this.pinned,
      tool("To the answer (A)", "M3 14V2h9l-2 3 2 3H3", () => this.answer()),
      tool("Smaller (−)", "M3 8h10", () => this.view.zoom(1 / 1.25)),
      tool("Larger (+)", "M3 8h10M8 3v10", () => this.view.zoom(1.25)),
      tool("All of it (F)", "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4", () => this.fit()),
    );
  }

  buttons() {
    this.pinned.hidden = Boolean(this.run.end) || this.view.following || this.read;
    this.tools.children[1].disabled = !this.run.answer?.parent;
  }

  fit() {
    this.view.following = false;
    this.view.fit(true);
    this.buttons();
  }

  answer() {
    if (this.run.answer?.parent) this.view.select(this.run.answer);
  }

  /** Mark the thoughts that `words` are found at, first those whose own text holds them; `jump` selects the first. Gives how many there are. */
  search(words, jump = true) {
    const found = find(this.run, words);
    this.words = found === null ? "" : words;
    this.found = found === null ? [] : [...found.keys()].sort((a, b) => found.get(b) - found.get(a));
    this.view.matches = found;
    if (found === null || jump) this.nth = -1;
    this.view.current = this.found[this.nth] ?? null;
    this.view.request();
    return found === null ? null : found.size;
  }

  /** Select the next or the previous match. */
  next(step) {
    if (!this.found?.length) return;
    this.nth = (this.nth + step + this.found.length) % this.found.length;
    if (this.nth < 0) this.nth = this.found.length - 1;
    this.view.current = this.found[this.nth];
    this.shown(this.view.current);
    this.view.select(this.view.current);
  }

  /** Make sure that a thought is not hidden. */
  shown(node) {
    const kinds = [node, ...node.path].map((one) => one.kind).filter((kind) => this.hidden.has(kind));
    if (!kinds.length) return;
    for (const kind of kinds) this.hidden.delete(kind);
    this.view.show(this.run);
    this.counts();
  }

  go(node) {
    this.shown(node);
    this.view.select(node);
  }

  say(text, bad = false) {
    this.app.say(text, bad);
  }

  refresh() {
    return this.app.refresh();
  }

  recolour() {
    this.view.recolour();
    for (const canvas of this.element.querySelectorAll("canvas.mark")) paintMark(canvas);
  }

  close() {
    this.abort.abort();
    clearTimeout(this.timer);
    this.element.remove();
  }
}
