import { ApiError } from "./errors";

interface CursorPage<Item> {
  items: Item[];
  pagination: { nextCursor: string | null };
}

interface ReadOptions {
  signal: AbortSignal;
  onProgress: (count: number) => void;
  most: number;
  wait?: (seconds: number) => Promise<void>;
}

const REPEATS = 5;
const LONGEST_WAIT_SECONDS = 60;

const sleep = (seconds: number): Promise<void> => new Promise((done) => setTimeout(done, seconds * 1000));

/**
 * Reads every page of a list, `most` items at most. A page that is refused for a time (429, 503 with
 * `Retry-After`) is read again after it.
 *
 * Throws `ApiError` where a page stays refused, and the signal's reason when it is aborted.
 */
export async function readAll<Item>(
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<Item>>,
  { signal, onProgress, most, wait = sleep }: ReadOptions,
): Promise<{ items: Item[]; isComplete: boolean }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  let repeats = 0;
  for (;;) {
    signal.throwIfAborted();
    try {
      const page = await fetchPage(cursor, signal);
      repeats = 0;
      items.push(...page.items);
      onProgress(items.length);
      cursor = page.pagination.nextCursor ?? undefined;
    } catch (error) {
      const seconds = error instanceof ApiError ? error.retryAfterSeconds : null;
      if (seconds === null || seconds > LONGEST_WAIT_SECONDS || ++repeats > REPEATS) throw error;
      await wait(Math.max(seconds, 1));
      continue;
    }
    if (cursor === undefined || items.length >= most) return { items, isComplete: cursor === undefined };
  }
}
