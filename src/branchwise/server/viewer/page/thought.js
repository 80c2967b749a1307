// One thought of a tree, and its name. Knows no event.

const LABEL_DEPTH = 32;
const MASK = (1n << 64n) - 1n;

/** One thought in its place. `mergedInto` is set for an arrival that is equal to a thought that was there: it is drawn, but it is no thought of the tree. */
export class Thought {
  constructor(birth, parent, index, text, status, reason) {
    Object.assign(this, { birth, parent, index, text, status, statusReason: reason });
    this.depth = parent ? parent.depth + 1 : 0;
    this.children = [];
    this.merged = [];
    this.dropped = [];
    this.fate = "undecided";
    this.fateReason = "";
    this.confidence = null;
    this.arrivals = 1;
    this.count = 0;
    this.unknown = 0;
    this.mean = null;
    this.samples = [];
    this.reason = "";
    this.role = "";
    this.mergedInto = null;
    this.group = null;
    this.from = null;
    this.writtenBy = [];
    this.acts = [];
    this.onPath = false;
    this.x = this.y = 0;
    this.hidden = 0;
    this.shownLine = null;
  }

  /** 1 for a proven state, 0 for a dead one, else the mean of the judged values; null while unknown. */
  get value() {
    return this.status === "solved" ? 1 : this.status === "dead" ? 0 : this.mean;
  }

  /** One word: answer, solved, dead, merged, kept, pruned or undecided. */
  get kind() {
    if (this.mergedInto) return "merged";
    return this.status === "solved" || this.status === "dead" ? this.status : this.fate;
  }

  get path() {
    const path = [];
    for (let node = this; node.parent; node = node.parent) path.unshift(node);
    return path;
  }

  /** The name by which calls mean this place: "0.2.1", "" for the root, a digest of the path where that would get long. */
  get label() {
    if (this.known === undefined) {
      if (this.depth > LABEL_DEPTH) this.known = "~" + digest(this).toString(16).padStart(16, "0");
      else this.known = this.depth > 1 ? `${this.parent.label}.${this.index}` : this.parent ? String(this.index) : "";
    }
    return this.known;
  }
}

function digest(node) {
  const missing = [];
  let at = node;
  for (; at.digest === undefined && at.parent; at = at.parent) missing.push(at);
  let value = at.digest ?? 0x9e3779b97f4a7c15n;
  for (const one of missing.reverse()) {
    const mixed = ((value ^ BigInt(one.index + 1)) * 0xbf58476d1ce4e5b9n) & MASK;
    value = one.digest = ((mixed ^ (mixed >> 29n)) * 0x94d049bb133111ebn) & MASK;
  }
  return value;
}
