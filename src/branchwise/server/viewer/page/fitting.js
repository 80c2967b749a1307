// Text that has to fit: on a card, by the width of its letters. Knows no thought.

/** `text` on at most two lines of these widths. */
export function broken(pen, text, first, second) {
  const head = fitting(pen, text, first, "");
  if (head.length >= text.length) return [text];
  const blank = head.lastIndexOf(" ");
  const cut = blank > head.length * 0.5 ? blank : head.length;
  return [text.slice(0, cut), fitting(pen, text.slice(cut).trimStart(), second)];
}

/** As much of `text` as fits into `width`, and `more` where something is left out. */
export function fitting(pen, text, width, more = "…") {
  if (pen.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(text.slice(0, middle) + more).width <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low).replace(/[\ud800-\udbff]$/, "") + more;
}
