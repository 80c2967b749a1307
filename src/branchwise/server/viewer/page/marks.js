// What became of a thought, as words and as drawn marks: each kind has its own shape and border, so that colour is never needed.

/** Kinds in the order of the legend; `word` is shown, `means` explains, `dash` is the border. */
export const KINDS = {
  kept: { word: "kept", means: "The search goes on with it.", dash: [] },
  solved: { word: "proven", means: "A program has proven it to be a solution.", dash: [] },
  undecided: { word: "undecided", means: "The search has not decided about it.", dash: [5, 3] },
  pruned: { word: "pruned", means: "The search gave it up.", dash: [2, 3] },
  dead: { word: "dead end", means: "The rules of the task say that it leads nowhere.", dash: [2, 3] },
  merged: { word: "merged", means: "Equal to a thought that was there already.", dash: [8, 3, 2, 3] },
};

/** Colours of the page's present theme by name. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "card", "ink", "muted", "line", "edge", "accent", "match", "answer", "faint", ...Object.keys(KINDS)];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** The mark of a kind, in a square of 16 around (x, y). */
export function drawMark(pen, kind, x, y, colours) {
  const colour = colours[kind];
  pen.save();
  pen.translate(x, y);
  pen.lineWidth = 1.7;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = colour;
  pen.fillStyle = colour;
  pen.beginPath();
  if (kind === "kept") {
    pen.arc(0, 0, 7, 0, 7);
    pen.fill();
    strokes(pen, colours.card, [-3.2, 0, 3.2, 0], [0, -3.2, 0, 3.2]);
  } else if (kind === "solved") {
    star(pen);
    pen.fill();
    strokes(pen, colours.card, [-2.9, 0.2, -0.7, 2.4, 3.1, -2.2]);
  } else if (kind === "pruned") {
    pen.roundRect(-6.4, -6.4, 12.8, 12.8, 2.5);
    pen.stroke();
    strokes(pen, colour, [-3, 0, 3, 0]);
  } else if (kind === "dead") {
    strokes(pen, colour, [-4.6, -4.6, 4.6, 4.6], [4.6, -4.6, -4.6, 4.6]);
  } else if (kind === "merged") {
    pen.moveTo(0, -7.4);
    pen.lineTo(7.4, 0);
    pen.lineTo(0, 7.4);
    pen.lineTo(-7.4, 0);
    pen.closePath();
    pen.stroke();
    strokes(pen, colour, [-2.3, -1.6, 2.3, -1.6], [-2.3, 1.6, 2.3, 1.6]);
  } else {
    pen.setLineDash([2.6, 2.4]);
    pen.arc(0, 0, 6.4, 0, 7);
    pen.stroke();
  }
  pen.restore();
}

function star(pen) {
  for (let at = 0; at < 16; at += 1) {
    const far = at % 2 ? 6.6 : 8.4;
    const turn = (at * Math.PI) / 8;
    pen.lineTo(far * Math.cos(turn), far * Math.sin(turn));
  }
  pen.closePath();
}

function strokes(pen, colour, ...lines) {
  pen.strokeStyle = colour;
  pen.setLineDash([]);
  pen.beginPath();
  for (const line of lines) {
    pen.moveTo(line[0], line[1]);
    for (let at = 2; at < line.length; at += 2) pen.lineTo(line[at], line[at + 1]);
  }
  pen.stroke();
}

/** The mark as an element. */
export function mark(kind, label = "") {
  const canvas = document.createElement("canvas");
  canvas.className = "mark";
  canvas.dataset.kind = kind;
  if (label) {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
  } else canvas.setAttribute("aria-hidden", "true");
  paintMark(canvas);
  return canvas;
}

/** Paint a mark element anew, as after a change of theme. */
export function paintMark(canvas) {
  const scale = Math.max(1, devicePixelRatio);
  canvas.width = canvas.height = 18 * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  drawMark(pen, canvas.dataset.kind, 9, 9, palette());
}

/** A pattern of slanted lines, for what the search gave up; made once a colour. */
export function hatch(pen, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const ink = tile.getContext("2d");
  ink.strokeStyle = colour;
  ink.lineWidth = 1;
  ink.beginPath();
  for (const shift of [-8, 0, 8]) {
    ink.moveTo(shift, 8);
    ink.lineTo(shift + 8, 0);
  }
  ink.stroke();
  return pen.createPattern(tile, "repeat");
}
