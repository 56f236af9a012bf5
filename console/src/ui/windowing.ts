/** Above this number of rows only those near the screen are rendered. */
export const WINDOWED_ABOVE = 100;

export interface RowWindow {
  /** The height of the rows before and after those that are rendered, in pixels. */
  before: number;
  after: number;
}

interface Item {
  start: number;
  end: number;
}

/** Makes the space around the rendered rows; `offset` is where the table begins on the page. */
export function spaceAround(items: readonly Item[], totalSize: number, offset: number): RowWindow {
  const first = items[0];
  const last = items[items.length - 1];
  if (!first || !last) return { before: 0, after: totalSize };
  return { before: first.start - offset, after: Math.max(0, totalSize - (last.end - offset)) };
}
