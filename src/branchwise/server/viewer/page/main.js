// The page: the list of runs, one or two trees, the panel of details, search, keys and theme.

import { comparison } from "./compare.js";
import { details } from "./details.js";
import { askToken, showKeys, welcome } from "./dialogs.js";
import { pressed } from "./keys.js";
import { RunList } from "./list.js";
import { overview } from "./overview.js";
import { Pane } from "./pane.js";
import { Inside, Server, SourceError } from "./source.js";
import { count, el, icon } from "./text.js";
import { Theme } from "./theme.js";
import { frames } from "./view.js";

const EVERY = 2500;

class App {
  constructor(source) {
    this.source = source;
    this.panes = [];
    this.active = null;
    this.panel = document.getElementById("details");
    this.middle = document.getElementById("panes");
    this.dialog = document.getElementById("dialog");
    this.top();
    document.addEventListener("keydown", (event) => pressed(this, event));
    addEventListener("hashchange", () => this.route());
    if (source.one) {
      document.body.classList.add("single");
      this.show([source.one]);
    } else {
      this.list = new RunList(
        document.getElementById("runs"),
        (id) => this.address(id),
        (id) => this.beside(id),
      );
      this.route();
      this.refresh();
      setInterval(() => document.hidden || this.refresh(), EVERY);
    }
  }

  top() {
    this.box = el("input", {
      type: "search",
      placeholder: "Search thoughts and replies",
      ariaLabel: "Search thoughts and replies",
      oninput: () => this.search(true),
      onkeydown: (event) => this.searchKey(event),
    });
    this.hits = el("span.hits.muted", { role: "status" });
    this.toast = el("div.toast", { role: "status" });
    this.theme = new Theme(() => this.recolour());
    const lists = el(
      "button.lists",
      {
        type: "button",
        title: "Show or hide the list of runs",
        ariaLabel: "List of runs",
        onclick: () => document.body.classList.toggle("no-list"),
      },
      icon("M2 4h12M2 8h12M2 12h12"),
    );
    document
      .getElementById("top")
      .append(
        lists,
        el("span.brand", {}, icon("M2 8h4c3 0 2-5 5-5h3M6 8c3 0 2 5 5 5h3"), "Branchwise"),
        el("div.search", { role: "search" }, icon("M7 2a5 5 0 110 10A5 5 0 017 2zM11 11l3 3"), this.box, this.hits),
        el(
          "div.right",
          {},
          this.toast,
          this.theme.button,
          el("button", { type: "button", title: "Keys (?)", ariaLabel: "Keys", onclick: () => this.help() }, "?"),
        ),
      );
  }

  // which runs are shown

  route() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const ids = [wanted.get("run"), wanted.get("beside")].filter(Boolean);
    if (this.source.one) return;
    this.show(ids);
    const birth = wanted.get("thought");
    if (birth !== null && this.panes[0]) this.panes[0].wanted = Number(birth);
  }

  address(...ids) {
    const [run, beside] = ids;
    location.hash = new URLSearchParams({ ...(run ? { run } : {}), ...(beside ? { beside } : {}) }).toString();
  }

  /** The present runs and the selected thought of the first, as they stand in the address. */
  place(node) {
    const [run, beside] = this.panes.map((pane) => pane.id);
    const thought = node?.parent && !node.mergedInto ? { thought: node.birth } : {};
    return new URLSearchParams({ run, ...(beside ? { beside } : {}), ...thought });
  }

  beside(id) {
    const [first] = this.panes;
    this.address(...(first ? (first.id === id ? [id] : [first.id, id]) : [id]));
  }

  show(ids) {
    const old = this.panes;
    this.panes = [];
    for (const id of [...new Set(ids)]) this.panes.push(old.find((pane) => pane.id === id) ?? null);
    for (const pane of old) if (!this.panes.includes(pane)) pane.close();
    [...new Set(ids)].forEach((id, at) => (this.panes[at] ??= new Pane(this, id)));
    this.table = el("div");
    this.middle.replaceChildren(
      ...(this.panes.length > 1 ? [this.table] : []),
      el(
        "div.trees",
        {},
        this.panes.map((pane) => pane.element),
      ),
    );
    if (!this.panes.length) this.middle.replaceChildren(welcome());
    this.active = this.panes.includes(this.active) ? this.active : (this.panes[0] ?? null);
    document.body.classList.toggle("two", this.panes.length > 1);
    document.body.classList.toggle("none", !this.panes.length);
    for (const pane of this.panes) {
      pane.titles();
      if (this.box.value) pane.search(this.box.value, false);
    }
    this.list?.show(this.list.runs, ids);
    this.states();
    this.detail(true);
    this.compared();
  }

  closed(pane) {
    this.address(...this.panes.filter((one) => one !== pane).map((one) => one.id));
  }

  reload(pane) {
    const ids = this.panes.map((one) => one.id);
    pane.close();
    this.panes = this.panes.filter((one) => one !== pane);
    this.show(ids);
  }

  async refresh() {
    if (!this.list) return;
    try {
      const runs = await this.source.runs();
      this.list.show(
        runs,
        this.panes.map((pane) => pane.id),
      );
      this.states();
    } catch (error) {
      if (error instanceof SourceError && error.status === 401) this.token();
      else this.list.fail(error.message);
    }
  }

  states() {
    for (const pane of this.panes) {
      const known = this.list?.runs?.find((run) => run.id === pane.id);
      if (known) pane.stands(known);
    }
  }

  // what a pane tells

  chosen(pane, node, opened) {
    this.focused(pane);
    this.detail(true);
    if (opened) this.panel.focus();
    if (pane === this.panes[0] && !this.source.one) history.replaceState(null, "", `#${this.place(pane.view.selected)}`);
  }

  focused(pane) {
    if (this.active === pane) return;
    this.active = pane;
    this.detail(true);
    this.search(false);
  }

  changed(pane, force = false) {
    if (pane.wanted !== undefined && pane.run.nodes[pane.wanted]) {
      pane.view.select(pane.run.nodes[pane.wanted]);
      pane.wanted = undefined;
    }
    if (pane === this.active) this.detail(force);
    this.compared();
    this.search(false);
  }

  compared() {
    if (this.panes.length > 1) this.table.replaceChildren(comparison(this.panes));
  }

  /** The panel of the selected thought, or of the run. What is open in it stays while nothing of it changes. */
  detail(force) {
    const pane = this.active;
    if (!pane) return void this.panel.replaceChildren();
    for (const one of this.panes) one.element.classList.toggle("active", one === pane && this.panes.length > 1);
    const node = pane.view.selected;
    const whole = !node || !node.parent;
    const calls = whole ? 0 : (pane.run.calls.get(node.label)?.length ?? 0) + node.samples.length;
    const stamp = whole
      ? `${pane.id} ${pane.run.version}`
      : `${pane.id} ${node.birth} ${node.index} ${node.kind} ${node.onPath} ${calls} ${node.dropped.length} ${node.arrivals} ${pane.state.live}`;
    const writing = this.panel.contains(document.activeElement) && /^(TEXTAREA|INPUT)$/.test(document.activeElement.tagName);
    if (!force && (stamp === this.stamp || writing)) return;
    const same = this.subject === (whole ? pane : node);
    const place = this.panel.scrollTop;
    this.stamp = stamp;
    this.subject = whole ? pane : node;
    const back = whole ? null : el("button.link.back", { type: "button", onclick: () => pane.view.select(null) }, "← the whole run");
    this.panel.replaceChildren(...(back ? [back] : []), whole ? overview(pane) : details(node, pane));
    this.panel.scrollTop = same ? place : 0;
  }

  // search

  search(jump) {
    if (!this.active) return void (this.hits.textContent = "");
    const number = this.active.search(this.box.value, jump);
    if (number && jump) this.active.next(1);
    this.hit(number);
  }

  hit(number = this.active?.found?.length ?? 0) {
    this.hits.textContent = !this.box.value.trim()
      ? ""
      : number
        ? `${this.active.nth < 0 ? "" : `${count(this.active.nth + 1)} of `}${count(number)}`
        : "nothing found";
  }

  searchKey(event) {
    if (event.key === "Enter") {
      this.active?.next(event.shiftKey ? -1 : 1);
      this.hit();
    } else if (event.key === "Escape") {
      this.box.value = "";
      this.search(true);
      this.active?.view.canvas.focus();
    } else return;
    event.stopPropagation();
    event.preventDefault();
  }

  // keys, theme, words

  step(by) {
    this.active.next(by);
    this.hit();
  }

  recolour() {
    for (const pane of this.panes) pane.recolour();
    if (this.active) this.detail(true);
  }

  say(text, bad = false) {
    this.toast.textContent = text;
    this.toast.classList.toggle("bad", bad);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (this.toast.textContent = ""), bad ? 8000 : 2500);
  }

  help() {
    showKeys(this.dialog);
  }

  token() {
    askToken(this.dialog, () => {
      this.refresh();
      for (const pane of [...this.panes]) this.reload(pane);
    });
  }
}

const data = document.getElementById("data");
const app = new App(data ? new Inside(JSON.parse(data.textContent)) : new Server());
globalThis.branchwise = { app, frames };
