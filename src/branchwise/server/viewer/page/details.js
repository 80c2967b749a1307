// The panel of one thought: what it says, how it was judged, what became of it, and every call behind it.

import { KINDS, mark } from "./marks.js";
import { nodeActs } from "./steering.js";
import { begin, count, dollars, el, oneLine, plural, prose, seconds, valueText } from "./text.js";

/** The panel of `node`. `page` has source, run, go(node) and the run's state. */
export function details(node, page) {
  const kind = KINDS[node.kind];
  const panel = el(
    "div.panel",
    {},
    el(
      "div.head",
      {},
      mark(node.kind),
      el("strong", {}, kind.word),
      el("span.muted", {}, ` thought ${node.label}`),
      node.onPath ? el("span.tag.answer", {}, "path of the answer") : null,
      node.status === "complete" ? el("span.tag", {}, "complete answer") : null,
    ),
    why(node, page),
    prose(node.text, () => whole(page, node.from), "thought"),
    nodeActs(node, page),
    valued(node),
    trail(node, page),
    calls("Written by", node.writtenBy, page),
    calls("Judged by", page.run.judging(node), page),
    calls("Continued by", node.mergedInto ? [] : page.run.continuing(node), page),
    dropped(node, page),
  );
  return panel;
}

/** The text at a place of the trace that was cut. */
export async function whole(page, [at, ...keys]) {
  let found = await page.source.event(page.run.id, at);
  for (const key of keys) found = found?.[key];
  if (typeof found !== "string") throw new Error("The trace does not have this text any more.");
  return found;
}

function why(node, page) {
  if (node.mergedInto) {
    const other = node.mergedInto;
    return el("p", {}, "Equal to ", jump(other, page), ", which was there already: it was merged into it.");
  }
  const words = [begin(node.statusReason), begin(node.fateReason)].filter(Boolean).map((text) => oneLine(text, 300));
  if (node.role === "answer") words.push("written by the answering call");
  if (node.role === "person") words.push("added by a person");
  if (node.arrivals > 1) words.push(`${node.arrivals - 1} equal merged into it`);
  return words.length ? el("p.reason", { dir: "auto" }, words.join("; ")) : null;
}

function jump(node, page) {
  return el("button.link", { type: "button", onclick: () => page.go(node) }, node.parent ? `thought ${node.label}` : "the problem");
}

function valued(node) {
  if (node.mergedInto) return null;
  const section = el("section", {}, el("h3", {}, "Value"));
  const program = node.status === "solved" || node.status === "dead";
  section.append(
    el(
      "div.value",
      {},
      el("span.number", {}, valueText(node.value)),
      el(
        "span.muted",
        {},
        program
          ? "known by a program, no model asked"
          : node.value === null
            ? "not judged"
            : node.samples.length > 1
              ? `mean of ${plural(node.samples.length, "sample")}`
              : "one judgement",
      ),
    ),
  );
  if (!program && node.samples.length) section.append(strip(node));
  if (node.confidence !== null) section.append(el("p.muted", {}, `Confidence of the proposer: ${valueText(node.confidence)}`));
  if (node.reason) section.append(prose(node.reason, async () => begin(node.reason)));
  return section;
}

/** Samples as dots over the scale from 0 to 1, each also as a number. */
function strip(node) {
  const dots = el("div.dots", { ariaHidden: "true" });
  const seen = new Map();
  for (const sample of node.samples.slice(0, 200)) {
    if (sample === null) continue;
    const place = Math.round(sample * 100);
    const nth = seen.get(place) ?? 0;
    seen.set(place, nth + 1);
    const dot = el("i");
    dot.style.left = `${place}%`;
    dot.style.bottom = `${4 + Math.min(nth, 4) * 7}px`;
    dots.append(dot);
  }
  if (node.value !== null) {
    const mean = el("b");
    mean.style.left = `${node.value * 100}%`;
    dots.append(mean);
  }
  const numbers = node.samples.slice(0, 50).map(valueText).join("  ");
  return el(
    "div.strip",
    {},
    dots,
    el("div.scale", { ariaHidden: "true" }, el("span", {}, "0"), el("span", {}, "1")),
    el(
      "p.numbers",
      {},
      `Samples: ${numbers}${node.samples.length > 50 ? " …" : ""}${node.samples.includes(null) ? "  (? gave no value)" : ""}`,
    ),
  );
}

function trail(node, page) {
  const path = node.path;
  if (path.length < 2) return null;
  const shown = path.length > 12 ? [...path.slice(0, 4), null, ...path.slice(-7)] : path;
  return el(
    "section",
    {},
    el("h3", {}, "Path"),
    el(
      "ol.trail",
      {},
      shown.map((one) =>
        one === null
          ? el("li.muted.gap", {}, `… ${path.length - 11} more`)
          : el(
              "li",
              { value: one.depth },
              el(
                "button.step",
                { type: "button", onclick: () => page.go(one), ariaCurrent: one === node ? "true" : null },
                el("bdi", {}, oneLine(one.text, 90)),
                el("span.muted", {}, ` ${valueText(one.value)}`),
              ),
            ),
      ),
    ),
  );
}

function dropped(node, page) {
  if (!node.dropped.length) return null;
  return el(
    "section",
    {},
    el("h3", {}, `Dropped proposals (${count(node.dropped.length)})`),
    el(
      "ul.plain",
      {},
      node.dropped.slice(0, 50).map((one) =>
        el(
          "li",
          {},
          prose(one.text, () => whole(page, one.from), "prose.small"),
          el("div.muted", {}, oneLine(one.reason, 200)),
        ),
      ),
    ),
  );
}

function calls(title, list, page) {
  if (!list.length) return null;
  const shown = list.slice(0, 40);
  return el(
    "section",
    {},
    el("h3", {}, `${title} ${plural(list.length, "call")}`),
    shown.map((event) => call(event, page)),
    list.length > 40 ? el("p.muted", {}, `… and ${list.length - 40} more`) : null,
  );
}

/** One call, closed; opening it fetches the prompt. */
function call(event, page) {
  const usage = sum(event);
  const facts = [
    oneLine(event.role, 30),
    ...(event.samples.length > 1 ? [plural(event.samples.length, "sample")] : []),
    `${count(usage.prompt)} → ${count(usage.completion)} tokens`,
  ];
  if (event.seconds) facts.push(seconds(event.seconds));
  if (usage.cost) facts.push(dollars(usage.cost / 1e6));
  const head = el(
    "summary",
    {},
    el("span.role", {}, facts[0]),
    el("span.muted", {}, facts.slice(1).join(" · ")),
    event.fault ? el("span.tag.bad", {}, "failed") : null,
  );
  const body = el("div.call-body");
  const box = el("details.call", {}, head, body);
  box.addEventListener("toggle", () => {
    if (box.open && !body.childNodes.length) open(event, body, page);
  });
  return box;
}

function sum(event) {
  const total = { prompt: 0, completion: 0, cost: 0 };
  for (const { usage } of event.samples) for (const key of ["prompt", "completion", "cost"]) total[key] += usage[key] ?? 0;
  return total;
}

function open(event, body, page) {
  const asked = el("div.asked", {}, el("p.muted", {}, "Loading the prompt …"));
  body.append(asked);
  for (const [at, sample] of event.samples.entries()) {
    const title = event.samples.length > 1 ? `Reply ${at + 1}` : "Reply";
    const notes = [`${count(sample.usage.completion)} tokens`];
    if (sample.outcome && sample.outcome !== "ok") notes.push(sample.outcome);
    if (sample.error) notes.push(oneLine(sample.error));
    body.append(el("h4", {}, title, el("span.muted", {}, ` ${notes.join(" · ")}`)));
    const place = (key) => () => whole(page, [event.at, "samples", at, key]);
    if (sample.reasoning)
      body.append(el("details", {}, el("summary.muted", {}, "Reasoning"), prose(sample.reasoning, place("reasoning"), "message")));
    body.append(sample.text ? prose(sample.text, place("text"), "message.reply") : el("p.muted", {}, "empty"));
  }
  if (event.error) body.append(el("p.bad", {}, oneLine(event.error, 500)));
  const facts = [
    event.model,
    event.occurrence ? `occurrence ${event.occurrence}` : "",
    event.limit ? `at most ${count(event.limit)} tokens` : "",
  ]
    .map((text) => oneLine(text))
    .filter(Boolean);
  if (facts.length) body.append(el("p.muted", {}, facts.join(" · ")));
  page.source.event(page.run.id, event.at).then(
    (full) => {
      const messages = full?.messages ?? [];
      asked.replaceChildren(
        el("h4", {}, "Prompt"),
        ...(messages.length ? messages.map(message) : [el("p.muted", {}, "The trace does not hold it.")]),
      );
    },
    (error) => asked.replaceChildren(el("p.bad", {}, error.message)),
  );
}

function message({ role, content }) {
  return el(
    "div",
    {},
    el("div.who", {}, oneLine(role, 20)),
    prose(String(content), async () => String(content), "message"),
  );
}
