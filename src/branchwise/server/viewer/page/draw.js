// Painting a tree on a canvas: only what is seen, with as much as can be read at the present scale. Knows no events.

import { CARD } from "./layout.js";
import { KINDS, drawMark, hatch, palette } from "./marks.js";
import { broken, fitting } from "./fitting.js";
import { oneLine, valueText } from "./text.js";

const TEXT = 0.42;
const SHAPES = 0.2;
const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** Paints one view. */
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.recolour();
  }

  recolour() {
    this.colours = palette();
    this.hatch = hatch(this.pen, this.colours.faint);
  }

  /** Paint `scene`: layout, camera {x, y, scale}, selected thought, focus (is the keyboard here?), matches (thoughts, each with whether its own text holds what was looked for; or null). */
  paint(scene) {
    const { pen, canvas } = this;
    const dpr = Math.max(1, devicePixelRatio);
    const { x, y, scale } = scene.camera;
    const across = stretch(scale);
    const far = scale < SHAPES;
    const wide = canvas.width / dpr / across;
    const high = canvas.height / dpr / scale;
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    pen.fillStyle = this.colours.ground;
    pen.fillRect(0, 0, canvas.width / dpr, canvas.height / dpr);
    if (!far) pen.setTransform(dpr * scale, 0, 0, dpr * scale, -x * scale * dpr, -y * scale * dpr);
    this.scene = scene;
    this.px = far ? (place) => (place - x) * across : (place) => place;
    this.py = far ? (place) => (place - y) * scale : (place) => place;
    this.thin = far ? 1 : Math.max(1.2, 0.9 / scale);
    this.box = { top: y, bottom: y + high };
    const step = CARD.width + CARD.across;
    const first = Math.max(0, Math.floor(x / step) - 1);
    const last = Math.min(scene.layout.columns.length - 1, Math.floor((x + wide) / step));
    for (let depth = first; depth <= last; depth += 1) this.edges(depth);
    for (let depth = first; depth <= last; depth += 1) far ? this.specks(depth) : this.cards(depth);
  }

  edges(depth) {
    const { pen, box, colours } = this;
    const parents = this.scene.layout.parents[depth] ?? [];
    const path = [];
    pen.lineWidth = this.thin;
    pen.strokeStyle = colours.edge;
    pen.beginPath();
    for (let at = this.scene.layout.reaching(depth, box.top); at < parents.length; at += 1) {
      const parent = parents[at];
      if (parent.shown[0].y > box.bottom && parent.y > box.bottom) break;
      this.branch(parent, parent.shown);
      if (parent.onPath) path.push(parent);
    }
    pen.stroke();
    for (const parent of path) {
      const child = parent.shown.find((one) => one.onPath);
      if (!child) continue;
      pen.strokeStyle = colours.answer;
      pen.lineWidth = this.thin * 2.5;
      pen.beginPath();
      this.branch(parent, [child]);
      pen.stroke();
    }
  }

  branch(parent, shown) {
    const { pen, box, px, py } = this;
    const from = parent.x + CARD.width;
    const trunk = px(from + CARD.across / 2);
    const y = parent.y + parent.tall / 2;
    const ends = [shown[0].y + shown[0].tall / 2, shown.at(-1).y + shown.at(-1).tall / 2];
    pen.moveTo(px(from), py(y));
    pen.lineTo(trunk, py(y));
    const top = Math.max(Math.min(y, ends[0]), box.top - 20);
    const bottom = Math.min(Math.max(y, ends[1]), box.bottom + 20);
    if (bottom > top) {
      pen.moveTo(trunk, py(top));
      pen.lineTo(trunk, py(bottom));
    }
    let low = 0;
    for (let high = shown.length; low < high;) {
      const middle = (low + high) >> 1;
      if (shown[middle].y + CARD.height < box.top) low = middle + 1;
      else high = middle;
    }
    for (; low < shown.length && shown[low].y <= box.bottom; low += 1) {
      const one = shown[low];
      pen.moveTo(trunk, py(one.y + one.tall / 2));
      pen.lineTo(px(one.x), py(one.y + one.tall / 2));
    }
  }

  dimmed(node) {
    const { matches } = this.scene;
    return matches !== null && !matches.has(node);
  }

  /** Far away: a shape a thought, painted kind by kind. */
  specks(depth) {
    const { pen, box, colours } = this;
    const [column, low, end] = this.scene.layout.within(depth, box.top, box.bottom);
    const groups = {};
    for (let at = low; at < end; at += 1) (groups[(this.dimmed(column[at]) ? "~" : "") + column[at].kind] ??= []).push(column[at]);
    for (const [name, nodes] of Object.entries(groups)) {
      const kind = name.replace("~", "");
      pen.globalAlpha = name.startsWith("~") ? 0.25 : 1;
      pen.fillStyle = pen.strokeStyle = colours[kind];
      pen.lineWidth = 1;
      pen.beginPath();
      for (const node of nodes) this.speck(kind, ...this.rect(node));
      if (kind === "kept" || kind === "solved") pen.fill();
      else pen.stroke();
    }
    pen.globalAlpha = 1;
    for (let at = low; at < end; at += 1) {
      const node = column[at];
      if (node.onPath) this.outline(node, colours.answer, 2.5);
      if (node.kind === "solved") this.outline(node, colours.solved, 3, 1);
      if (this.scene.matches?.has(node)) this.outline(node, colours.match, 2.5, 1);
      if (node === this.scene.selected) this.outline(node, colours.accent, 3, 2);
    }
  }

  rect(node) {
    const left = this.px(node.x);
    const top = this.py(node.y);
    return [left, top, this.px(node.x + CARD.width) - left, this.py(node.y + node.tall) - top];
  }

  speck(kind, x, y, wide, high) {
    const { pen } = this;
    if (kind === "kept" || kind === "solved") pen.rect(x, y, wide, Math.max(high, 0.6));
    else if (kind === "dead") {
      pen.moveTo(x, y);
      pen.lineTo(x + wide, y + high);
      pen.moveTo(x, y + high);
      pen.lineTo(x + wide, y);
    } else if (kind === "merged") {
      const half = Math.min(wide / 3, high / 2 + 1);
      pen.moveTo(x, y + high / 2);
      pen.lineTo(x + half, y);
      pen.lineTo(x + 2 * half, y + high / 2);
      pen.lineTo(x + half, y + high);
      pen.closePath();
    } else pen.rect(x + 0.5, y + 0.5, kind === "pruned" ? wide - 1 : wide / 2, Math.max(0, high - 1));
  }

  cards(depth) {
    const [column, low, end] = this.scene.layout.within(depth, this.box.top, this.box.bottom);
    for (let at = low; at < end; at += 1) {
      const node = column[at];
      this.pen.globalAlpha = this.dimmed(node) ? 0.4 : 1;
      if (node.mergedInto) this.ghost(node);
      else this.card(node);
    }
    this.pen.globalAlpha = 1;
  }

  card(node) {
    const { pen, colours } = this;
    const kind = node.parent ? node.kind : "kept";
    const lost = kind === "pruned" || kind === "dead";
    pen.beginPath();
    pen.roundRect(node.x, node.y, CARD.width, node.tall, 7);
    pen.fillStyle = colours.card;
    pen.fill();
    if (lost) {
      pen.fillStyle = this.hatch;
      pen.fill();
    }
    pen.setLineDash(KINDS[kind].dash);
    pen.strokeStyle = node.parent ? colours[kind] : colours.muted;
    pen.lineWidth = kind === "solved" ? 2.4 : 1.3;
    pen.stroke();
    pen.setLineDash([]);
    if (node.onPath && node.parent) {
      pen.fillStyle = colours.answer;
      pen.beginPath();
      pen.roundRect(node.x, node.y, 5, node.tall, [7, 0, 0, 7]);
      pen.fill();
      this.outline(node, colours.answer, 2, 0);
    }
    if (node.parent) drawMark(pen, kind, node.x + 19, node.y + 18, colours);
    this.writing(node, kind, lost);
    this.bar(node, kind);
    this.rings(node);
  }

  writing(node, kind, lost) {
    const { pen, colours } = this;
    const scale = this.scene.camera.scale;
    if (scale < TEXT) return;
    const value = !node.parent ? "" : node.value > 0 && node.value < 0.01 ? "<0.01" : valueText(node.value);
    const size = scale < 0.8 ? 16 : 13.5;
    pen.textBaseline = "alphabetic";
    pen.direction = "ltr";
    pen.textAlign = "right";
    pen.font = `600 ${size - 0.5}px ${FONT}`;
    pen.fillStyle = value === "?" ? colours.muted : colours.ink;
    if (node.parent) pen.fillText(value, node.x + CARD.width - 10, node.y + 22);
    pen.textAlign = "left";
    pen.font = `${node.parent ? "" : "600 "}${size}px ${FONT}`;
    pen.fillStyle = lost ? colours.muted : colours.ink;
    const room = CARD.width - (node.parent ? 45 : 24);
    if (node.lined !== size + value)
      node.lines = broken(
        pen,
        node.parent ? oneLine(node.text) : node.title || "the problem",
        room - (node.parent ? size * value.length * 0.62 + 8 : 0),
        room,
      );
    node.lined = size + value;
    const left = node.x + (node.parent ? 33 : 12);
    node.lines.forEach((line, at) => pen.fillText(line, left, node.y + 22 + at * (size + 4)));
    if (kind === "dead") {
      const wide = pen.measureText(node.lines[0]).width;
      pen.fillRect(left, node.y + 17.5, wide, 1);
    }
    const notes = [];
    if (node.arrivals > 1) notes.push(`×${node.arrivals}`);
    if (node.role === "person") notes.push("a person's");
    else if (node.acts.length) notes.push("steered");
    if (node.hidden) notes.push(`+${node.hidden} hidden`);
    if (notes.length && (scale >= 0.8 || node.lines.length < 2)) {
      pen.textAlign = "right";
      pen.font = `11px ${FONT}`;
      pen.fillStyle = colours.muted;
      pen.fillText(notes.join("  "), node.x + CARD.width - 10, node.y + node.tall - 9);
    }
  }

  bar(node, kind) {
    const { pen, colours } = this;
    if (!node.parent || node.value === null) return;
    const left = node.x + 12;
    const wide = CARD.width - 24;
    pen.fillStyle = colours.line;
    pen.fillRect(left, node.y + node.tall - 5, wide, 2.5);
    pen.fillStyle = colours[kind];
    pen.fillRect(left, node.y + node.tall - 5, wide * Math.min(1, Math.max(0, node.value)), 2.5);
  }

  ghost(node) {
    const { pen, colours } = this;
    pen.beginPath();
    pen.roundRect(node.x, node.y, CARD.width * 0.72, node.tall, node.tall / 2);
    pen.setLineDash(KINDS.merged.dash);
    pen.strokeStyle = colours.merged;
    pen.lineWidth = 1.2;
    pen.stroke();
    pen.setLineDash([]);
    drawMark(pen, "merged", node.x + 19, node.y + node.tall / 2, colours);
    if (this.scene.camera.scale >= TEXT) {
      pen.textAlign = "left";
      pen.direction = "ltr";
      pen.font = `12px ${FONT}`;
      pen.fillStyle = colours.muted;
      node.lines ??= [fitting(pen, `same as ${node.mergedInto.label || "the problem"}`, CARD.width * 0.72 - 48)];
      pen.fillText(node.lines[0], node.x + 34, node.y + 19.5);
    }
    this.rings(node);
  }

  rings(node) {
    const { matches, selected, current } = this.scene;
    if (matches?.has(node)) {
      const inText = matches.get(node);
      if (!inText) this.pen.setLineDash([3, 4]);
      this.outline(node, this.colours.match, node === current ? 4 : inText ? 2.5 : 1.5, 3);
      this.pen.setLineDash([]);
    }
    if (node === selected) this.outline(node, this.colours.accent, this.scene.focus ? 3.5 : 2.5, 6);
  }

  outline(node, colour, width, gap = 0) {
    const { pen } = this;
    const [x, y, wide, high] = this.rect(node);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.roundRect(x - gap, y - gap, (node.mergedInto ? 0.72 : 1) * wide + 2 * gap, high + 2 * gap, Math.min(7, high / 2) + gap);
    pen.stroke();
  }
}

/** Pixels across for a unit of the layout: seen from far away, columns stay wider than a tall tree would leave them. */
export function stretch(scale) {
  return scale < SHAPES ? SHAPES * (scale / SHAPES) ** 0.12 : scale;
}
