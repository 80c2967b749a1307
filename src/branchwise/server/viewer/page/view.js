// A tree in a window that can be moved and scaled, with mouse, touch and keyboard. Tells who asked what thought was chosen.

import { Painter, stretch } from "./draw.js";
import { CARD, Layout } from "./layout.js";
import { spoken } from "./spoken.js";
import { el } from "./text.js";

const LEAST = 0.002;
const MOST = 2.5;
const READABLE = 0.6;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** The page's own timer: milliseconds between frames that followed each other while something moved. */
export class Frames {
  constructor() {
    this.times = [];
    this.last = null;
  }

  tick(now) {
    if (this.last !== null) this.times.push(now - this.last);
    if (this.times.length > 4000) this.times.splice(0, 2000);
    this.last = now;
  }

  rest() {
    this.last = null;
  }

  /** The middle of the times, 0 when there are none. */
  get median() {
    return [...this.times].sort((a, b) => a - b)[this.times.length >> 1] ?? 0;
  }
}

export const frames = new Frames();

/** One tree on a canvas. `chosen(node, opened)` is called when the user selects or opens a thought. */
export class View {
  constructor(chosen) {
    this.chosen = chosen;
    this.canvas = el("canvas.tree", {
      tabIndex: 0,
      role: "application",
      ariaLabel: "Tree of thoughts. Arrow keys move, Enter opens, question mark shows all keys.",
    });
    this.element = el("div.view", {}, this.canvas);
    this.painter = new Painter(this.canvas);
    this.camera = { x: -40, y: -40, scale: 1 };
    this.selected = null;
    this.matches = null;
    this.current = null;
    this.following = true;
    this.busyUntil = 0;
    this.frame = 0;
    this.hides = () => false;
    this.pointers = new Map();
    this.listen();
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.resize()).observe(this.element);
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.up(event));
    canvas.addEventListener("dblclick", () => this.selected && this.chosen(this.selected, true));
    for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => this.request());
  }

  resize() {
    const { clientWidth: wide, clientHeight: high } = this.element;
    if (!wide || !high) return;
    const dpr = Math.max(1, devicePixelRatio);
    const before = { wide: this.wide, high: this.high };
    this.wide = wide;
    this.high = high;
    this.canvas.width = Math.round(wide * dpr);
    this.canvas.height = Math.round(high * dpr);
    if (!before.wide && this.layout) this.home();
    else if (this.following && this.layout) this.fit(false);
    this.paint();
  }

  /** Show another state of the tree; the thought in the middle stays where it is unless the view follows. */
  show(run) {
    const anchor = this.selected && this.run === run ? { node: this.selected, y: this.selected.y } : null;
    const fresh = this.run !== run || this.root !== run.root;
    this.run = run;
    this.root = run.root;
    if (fresh) this.selected = this.current = null;
    this.layout = new Layout(run.root, this.hides);
    if (fresh && this.wide) this.home();
    else if (this.following && this.wide) this.fit(false);
    else if (anchor) this.camera.y += anchor.node.y - anchor.y;
    this.request();
  }

  /** The first look: all of it where that can be read, else the beginning. */
  home() {
    this.following = true;
    this.fit(false);
  }

  /** All of the tree; while it grows, never smaller than can be read. */
  fit(whole = true) {
    const { layout } = this;
    const [wide, high] = [this.wide - 72, this.high - 72];
    let scale = Math.min(wide / layout.width, high / Math.max(layout.height, CARD.height), 1.1);
    if (whole) {
      scale = Math.min(high / Math.max(layout.height, CARD.height), 1.1);
      while (stretch(scale) * layout.width > wide && scale > LEAST) scale *= 0.98;
    }
    scale = Math.max(whole ? LEAST : READABLE, scale);
    const focus = this.run?.answer ?? this.run?.nodes.at(-1) ?? this.root;
    const target = {
      scale,
      x: this.side(layout.width, wide / stretch(scale), 36 / stretch(scale), focus.x + CARD.width / 2),
      y: this.side(layout.height, high / scale, 36 / scale, focus.y + CARD.height / 2),
    };
    if (layout.width * stretch(scale) < wide * 0.75) target.x = -36 / stretch(scale);
    if (whole) this.glide(target);
    else Object.assign(this.camera, target);
    this.request();
  }

  /** Where the window begins so that all of `size` is in the middle of `room`, or else `focus` is as far as possible. */
  side(size, room, margin, focus) {
    if (size <= room * 1.001) return (size - room) / 2 - margin;
    return Math.min(Math.max(focus - room / 2, 0), size - room) - margin;
  }

  /** Scale around a point of the window. */
  zoom(factor, x = this.wide / 2, y = this.high / 2) {
    const { camera } = this;
    const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor));
    camera.x += x / stretch(camera.scale) - x / stretch(scale);
    camera.y += y / camera.scale - y / scale;
    camera.scale = scale;
    this.moved();
  }

  pan(dx, dy) {
    this.camera.x += dx / stretch(this.camera.scale);
    this.camera.y += dy / this.camera.scale;
    this.moved();
  }

  moved() {
    this.target = null;
    this.following = false;
    this.onmoved?.();
    this.clamp();
    this.request(140);
  }

  /** Some of the tree always stays in the window. */
  clamp() {
    const { camera, layout } = this;
    if (!layout) return;
    const wide = this.wide / stretch(camera.scale);
    const room = { x: wide * 0.7, y: (this.high / camera.scale) * 0.7 };
    camera.x = Math.min(Math.max(camera.x, -room.x), layout.width - wide + room.x);
    camera.y = Math.min(Math.max(camera.y, -room.y), layout.height - this.high / camera.scale + room.y);
  }

  glide(target) {
    if (calm.matches || !this.wide) Object.assign(this.camera, target);
    else this.target = { from: { ...this.camera }, to: { ...this.camera, ...target }, start: performance.now() };
    this.request(220);
  }

  /** Select a thought, and bring it into the window if it is outside. */
  select(node, opened = false, quiet = false) {
    this.selected = node;
    if (node) this.reveal(node);
    this.request();
    if (!quiet) this.chosen(node, opened);
    document.getElementById("said").textContent = node ? spoken(node) : "";
  }

  reveal(node) {
    const { camera } = this;
    if (!this.wide || node.x === undefined) return;
    const scale = Math.max(camera.scale, READABLE);
    const [wide, high] = [this.wide / scale, this.high / scale];
    const inside =
      node.x > camera.x && node.x + CARD.width < camera.x + wide && node.y > camera.y && node.y + CARD.height < camera.y + high;
    if (inside && scale === camera.scale) return;
    this.following = false;
    this.onmoved?.();
    const near = (place, size, at, room) => (place > at + 20 && place + size < at + room - 20 ? at : place + size / 2 - room / 2);
    this.glide({ scale, x: near(node.x, CARD.width, camera.x, wide), y: near(node.y, CARD.height, camera.y, high) });
  }

  request(more = 0) {
    this.busyUntil = Math.max(this.busyUntil, performance.now() + more);
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.frame = 0;
    frames.tick(now);
    if (this.target) {
      const part = Math.min(1, Math.max(0, (performance.now() - this.target.start) / 200));
      const ease = 1 - (1 - part) ** 3;
      for (const key of ["x", "y", "scale"])
        this.camera[key] = this.target.from[key] + (this.target.to[key] - this.target.from[key]) * ease;
      if (part === 1) this.target = null;
    }
    this.paint();
    if (performance.now() < this.busyUntil || this.target) this.frame = requestAnimationFrame((next) => this.tick(next));
    else frames.rest();
  }

  paint() {
    if (!this.layout || !this.wide) return;
    const { layout, camera, selected, matches, current } = this;
    this.painter.paint({ layout, camera, selected, matches, current, focus: document.activeElement === this.canvas });
  }

  recolour() {
    this.painter.recolour();
    this.request();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? this.high : 1;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY * unit * 0.0022), ...this.place(event));
    else if (event.shiftKey && !event.deltaX) this.pan(event.deltaY * unit, 0);
    else this.pan(event.deltaX * unit, event.deltaY * unit);
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.dragged = false;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    const [x, y] = this.place(event);
    if (!before) {
      this.canvas.classList.toggle("over", Boolean(this.find(x, y)));
      return;
    }
    if (!this.dragged && Math.hypot(x - before[0], y - before[1]) < 4) return;
    this.dragged = true;
    this.canvas.classList.add("dragging");
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const factor = Math.hypot(x - other[0], y - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
      this.zoom(factor, (x + other[0]) / 2, (y + other[1]) / 2);
    } else this.pan(before[0] - x, before[1] - y);
    this.pointers.set(event.pointerId, [x, y]);
  }

  up(event) {
    const held = this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    if (held && !this.dragged && event.type === "pointerup") {
      const node = this.find(...this.place(event));
      if (node) this.select(node);
      else this.chosen(this.selected, false);
    }
  }

  find(x, y) {
    return this.layout?.at(this.camera.x + x / stretch(this.camera.scale), this.camera.y + y / this.camera.scale) ?? null;
  }

  /** The neighbour of the selected thought: parent, child, or the one above or below in its column. */
  step(where) {
    const node = this.selected ?? this.root;
    if (!this.layout || !node) return;
    if (!this.selected) return void this.select(this.root);
    const shown = node.mergedInto ? [] : (node.shown ?? []);
    const column = this.layout.columns[node.depth] ?? [];
    const at = column.indexOf(node);
    const next = { left: node.parent, right: shown.find((one) => one.onPath) ?? shown[0], up: column[at - 1], down: column[at + 1] }[where];
    if (next) this.select(next);
  }
}
