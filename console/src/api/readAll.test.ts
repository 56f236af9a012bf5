import { expect, test } from "vitest";
import { ApiError } from "./errors";
import { readAll } from "./readAll";

const page = (items: number[], nextCursor: string | null) => ({ items, pagination: { nextCursor } });
const refusal = (retryAfterSeconds: number | null) =>
  new ApiError({ status: 429, code: "too_many_requests", message: "", requestId: null, retryAfterSeconds, details: null });
const options = () => ({ signal: new AbortController().signal, onProgress: () => {}, most: 100, wait: async () => {} });

test("readAll follows the cursors to the end", async () => {
  const asked: (string | undefined)[] = [];
  const pages = new Map([[undefined, page([1, 2], "a")], ["a", page([3], "b")], ["b", page([4], null)]]);
  const result = await readAll(async (cursor: string | undefined) => {
    asked.push(cursor);
    return pages.get(cursor as never) ?? page([], null);
  }, options());
  expect(result).toEqual({ items: [1, 2, 3, 4], isComplete: true });
  expect(asked).toEqual([undefined, "a", "b"]);
});

test("readAll stops at the bound and says so", async () => {
  const result = await readAll(async () => page([1, 2], "more"), { ...options(), most: 4 });
  expect(result).toEqual({ items: [1, 2, 1, 2], isComplete: false });
});

test("readAll repeats a page after Retry-After, and no page twice", async () => {
  const waits: number[] = [];
  let calls = 0;
  const result = await readAll(
    async (cursor: string | undefined) => {
      if (++calls === 2) throw refusal(7);
      return cursor === undefined ? page([1], "a") : page([2], null);
    },
    { ...options(), wait: async (seconds) => void waits.push(seconds) },
  );
  expect(result.items).toEqual([1, 2]);
  expect(waits).toEqual([7]);
});

test("readAll gives up where nothing says when to repeat, or it never ends", async () => {
  await expect(readAll(async () => Promise.reject(refusal(null)), options())).rejects.toThrow(ApiError);
  await expect(readAll(async () => Promise.reject(refusal(3)), options())).rejects.toThrow(ApiError);
});

test("readAll stops when it is aborted", async () => {
  const control = new AbortController();
  const reading = readAll(
    async () => {
      control.abort();
      return page([1], "a");
    },
    { ...options(), signal: control.signal },
  );
  await expect(reading).rejects.toThrow("aborted");
});
