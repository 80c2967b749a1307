// Where each thought stands: the root on the left, a column a depth, children beside their parent. Knows no canvas.

export const CARD = { width: 236, height: 60, across: 40, gap: 9, small: 30 };

/** Places for all thoughts that are not hidden, and indexes over them by column. `hides(kind)` says which kinds of leaves are left out. */
export class Layout {
  constructor(root, hides = () => false) {
    this.columns = [];
    this.parents = [];
    this.hiddenCount = 0;
    this.place(root, hides);
    this.width = this.columns.length * (CARD.width + CARD.across) - CARD.across;
  }

  place(root, hides) {
    const order = [];
    const stack = [root];
    while (stack.length) {
      const node = stack.pop();
      order.push(node);
      for (const child of node.children) stack.push(child);
    }
    for (let at = order.length - 1; at >= 0; at -= 1) {
      const node = order[at];
      const shown = node.children.filter((child) => child.stays);
      const merged = hides("merged") ? [] : node.merged;
      node.shown = merged.length ? [...shown, ...merged].sort((a, b) => a.index - b.index) : shown;
      node.hidden = node.children.length + node.merged.length - node.shown.length;
      node.stays = node.shown.length > 0 || node.onPath || !node.parent || !hides(node.kind);
      if (!node.stays) this.hiddenCount += 1;
    }
    this.stack(root);
  }

  stack(root) {
    const next = [];
    let y = 0;
    const todo = [[root, 0]];
    while (todo.length) {
      const top = todo.at(-1);
      const [node, at] = top;
      const shown = node.mergedInto ? [] : node.shown;
      if (at < shown.length) {
        top[1] += 1;
        todo.push([shown[at], 0]);
        continue;
      }
      todo.pop();
      node.tall = node.mergedInto ? CARD.small : CARD.height;
      node.x = node.depth * (CARD.width + CARD.across);
      if (shown.length) {
        const middle = (shown[0].y + shown[0].tall / 2 + shown.at(-1).y + shown.at(-1).tall / 2) / 2;
        node.y = Math.max(middle - node.tall / 2, next[node.depth] ?? -Infinity);
      } else node.y = Math.max(y, next[node.depth] ?? 0);
      next[node.depth] = node.y + node.tall + CARD.gap;
      if (!shown.length) y = node.y + node.tall + CARD.gap;
      else y = Math.max(y, next[node.depth]);
      (this.columns[node.depth] ??= []).push(node);
      if (shown.length) (this.parents[node.depth] ??= []).push(node);
    }
    this.height = Math.max(0, y - CARD.gap);
  }

  /** The thoughts of a column whose places overlap [top, bottom]. */
  within(depth, top, bottom) {
    const column = this.columns[depth] ?? [];
    let low = 0;
    let high = column.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle].y + column[middle].tall < top) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < column.length && column[end].y <= bottom) end += 1;
    return [column, low, end];
  }

  /** The first parent of a column that reaches, with its children, below `top`: children lie in the order of their parents. */
  reaching(depth, top) {
    const parents = this.parents[depth] ?? [];
    let low = 0;
    let high = parents.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Math.max(parents[middle].y, parents[middle].shown.at(-1).y) + CARD.height < top) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The thought at a place, or null. */
  at(x, y) {
    const step = CARD.width + CARD.across;
    const depth = Math.floor(x / step);
    if (depth < 0 || x - depth * step > CARD.width) return null;
    const [column, low, end] = this.within(depth, y, y);
    return low < end ? column[low] : null;
  }
}
