// The tree of a run: a fold over the events of its trace, as branchwise/tree.py does it. Knows no canvas and no server.

import { begin } from "./text.js";
import { Thought } from "./thought.js";
import { known, list, number, object, tidy } from "./tidy.js";

const COUNTED = ["calls", "requests", "prompt", "cached", "completion"];

function nothing() {
  return { calls: 0, requests: 0, prompt: 0, cached: 0, completion: 0, cost: 0, estimated: false };
}

/** What a trace has told so far. */
export class Run {
  constructor(id) {
    this.id = id;
    this.starts = [];
    this.stops = [];
    this.calls = new Map();
    this.byRole = new Map();
    this.seconds = 0;
    this.ended = false;
    this.reset();
  }

  reset() {
    this.root = new Thought(0, null, 0, "", "open", "");
    this.nodes = [this.root];
    this.merges = [];
    this.dropped = 0;
    this.wasted = 0;
    this.unparsed = 0;
    this.warnings = [];
    this.failures = [];
    this.others = [];
    this.acts = [];
    this.paused = false;
    this.lastWriters = new Map();
    this.answer = null;
    this.ended = false;
    this.version = (this.version ?? 0) + 1;
  }

  get started() {
    return this.starts.at(-1) ?? null;
  }

  get end() {
    return this.ended ? this.stops.at(-1) : null;
  }

  /** Fold events in. Those that do not fit together raise an error that says so. */
  take(events) {
    for (const event of events) {
      try {
        this.fold(event);
      } catch (error) {
        throw new Error(`The events of this trace do not fit together (${error.message}): it was changed, or parts of it are lost.`);
      }
    }
    this.version += 1;
  }

  fold(event) {
    switch (event.event) {
      case "started":
        this.reset();
        this.starts.push({ at: event.at, run: object(event.run), about: object(event.about) });
        break;
      case "call":
        this.call(event);
        break;
      case "expanded":
        this.expanded(event);
        break;
      case "judged":
        this.judge(event);
        if (event.error) this.failures.push([0, event.error]);
        break;
      case "marked":
        for (const mark of list(event.marks)) {
          const node = this.node(mark.node);
          node.fate = mark.fate === "kept" || mark.fate === "pruned" ? mark.fate : "undecided";
          node.fateReason = mark.reason ?? "";
        }
        break;
      case "warned":
        this.warnings.push(begin(event.text));
        break;
      case "steered":
        this.steered(event);
        break;
      case "stopped":
        this.stopped(event);
        break;
      default:
        this.others.push(event);
    }
  }

  node(birth) {
    if (!Number.isInteger(birth) || !this.nodes[birth]) throw new Error("a thought is named that is not there");
    return this.nodes[birth];
  }

  call(event) {
    const call = tidy(event);
    const place = begin(event.node);
    if (!this.calls.has(place)) this.calls.set(place, []);
    this.calls.get(place).push(call);
    this.seconds += call.seconds;
    const spent = this.byRole.get(call.role) ?? nothing();
    for (const { usage } of call.samples) {
      for (const key of COUNTED) spent[key] += usage[key];
      spent.cost = spent.cost === null || usage.cost === null ? null : spent.cost + usage.cost;
      spent.estimated ||= usage.estimated;
    }
    this.byRole.set(call.role, spent);
  }

  expanded(event) {
    const parent = this.node(event.node);
    const calls = this.calls.get(parent.label) ?? [];
    const writers = calls.slice(this.lastWriters.get(parent) ?? 0).filter((call) => call.role !== "evaluate");
    this.lastWriters.set(parent, calls.length);
    list(event.births).forEach((birth, at) => this.born(event, parent, birth, at, writers));
    list(event.dropped).forEach((pair, at) =>
      parent.dropped.push({ text: list(pair)[0], reason: begin(list(pair)[1]), from: [event.at, "dropped", at, 0] }),
    );
    this.dropped += list(event.dropped).length;
    this.wasted += number(event.wasted);
    if (event.error) this.failures.push([event.node, event.error]);
    this.judge(event);
  }

  born(event, parent, birth, at, writers) {
    const node = new Thought(
      birth.node,
      parent,
      Number.isInteger(birth.index) ? birth.index : 0,
      birth.thought,
      birth.status ?? "open",
      birth.reason ?? "",
    );
    node.from = [event.at, "births", at, "thought"];
    node.role = event.role ?? "generate";
    node.confidence = known(birth.confidence);
    node.writtenBy = writers;
    if (birth.merged) {
      node.mergedInto = this.node(birth.node);
      node.mergedInto.arrivals += 1;
      parent.merged.push(node);
      this.merges.push(node);
    } else {
      if (birth.node !== this.nodes.length) throw new Error("a thought comes out of turn");
      this.nodes.push(node);
      parent.children.push(node);
    }
  }

  judge(event) {
    const judged = list(event.judgements);
    const group = judged.length > 1 ? judged.map((one) => one.node) : null;
    for (const one of judged) {
      const node = this.node(one.node);
      const value = known(one.value);
      if (value === null) node.unknown += 1;
      else {
        node.count += 1;
        node.mean = node.mean === null ? value : node.mean + (value - node.mean) / node.count;
      }
      const samples = list(one.samples).map(known);
      if (samples.length) node.samples = node.samples.concat(samples);
      this.unparsed += samples.filter((sample) => sample === null).length;
      if (one.reason) node.reason = one.reason;
      if (group) node.group = group;
    }
  }

  /** What a person did; the marks and thoughts that came of it are events of their own. */
  steered(event) {
    const node = Number.isInteger(event.node) ? (this.nodes[event.node] ?? null) : null;
    const act = {
      act: begin(event.act),
      after: number(event.after),
      node,
      text: begin(event.text),
      budget: object(event.budget),
      by: begin(event.by),
    };
    this.acts.push(act);
    node?.acts.push(act);
    if (act.act === "pause" || act.act === "go_on") this.paused = act.act === "pause";
  }

  stopped(event) {
    this.stops.push(event);
    this.ended = true;
    for (let node = this.answer; node; node = node.parent) node.onPath = false;
    this.answer = Number.isInteger(event.node) ? (this.nodes[event.node] ?? null) : null;
    for (let node = this.answer; node; node = node.parent) node.onPath = true;
  }

  /** Thoughts by what became of them, with the names and rules of `Tree.counts`. */
  get counts() {
    const counts = {
      generated: 0,
      kept: 0,
      pruned: 0,
      merged: this.merges.length,
      dropped: this.dropped,
      dead: 0,
      solved: 0,
      undecided: 0,
    };
    for (const node of this.nodes.slice(1)) {
      if (node.status === "dead") counts.dead += 1;
      else if (node.fate === "pruned") counts.pruned += 1;
      else counts.kept += 1;
    }
    counts.generated = this.nodes.length - 1 + counts.merged + counts.dropped;
    return counts;
  }

  /** Thoughts by kind, as they are drawn: each counts once. */
  get kinds() {
    const kinds = { kept: 0, solved: 0, undecided: 0, pruned: 0, dead: 0, merged: this.merges.length };
    for (const node of this.nodes.slice(1)) kinds[node.kind] += 1;
    return kinds;
  }

  /** All roles together. */
  get spent() {
    const total = nothing();
    for (const spent of this.byRole.values()) {
      for (const key of COUNTED) total[key] += spent[key];
      total.cost = total.cost === null || spent.cost === null ? null : total.cost + spent.cost;
      total.estimated ||= spent.estimated;
    }
    return total;
  }

  /** The calls that judged a thought: its own, or those of the group that it was compared in. */
  judging(node) {
    const own = (this.calls.get(node.label) ?? []).filter((call) => call.role === "evaluate");
    if (own.length || !node.group || node.status === "dead" || node.status === "solved") return own;
    return node.group.flatMap((birth) => (this.calls.get(this.nodes[birth]?.label) ?? []).filter((call) => call.role === "evaluate"));
  }

  /** The calls that went on from a thought. */
  continuing(node) {
    return (this.calls.get(node.label) ?? []).filter((call) => call.role !== "evaluate");
  }
}
