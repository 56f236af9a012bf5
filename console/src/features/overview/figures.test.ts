import { describe, expect, test } from "vitest";
import { daysOf, firstDay, latencyByDay, newest, sumByAsset, sumByDay } from "./figures";
import type { Payment } from "./figures";

const FIRST = firstDay(Date.parse("2026-11-25T15:00:00Z"));
const payment = (transaction: string, day: string, amount: string, members: Partial<Payment> = {}): Payment =>
  ({ transaction, amount, asset: "A", state: "delivered", sentAt: `${day}T10:00:00Z`, settledAt: `${day}T10:00:05Z`, ...members }) as Payment;

const PAYMENTS = [
  payment("1", "2026-11-25", "9007199254740993"),
  payment("2", "2026-11-25", "7"),
  payment("3", "2026-10-27", "5", { state: "owed" }),
  payment("4", "2026-11-24", "100", { state: "failed" }),
  payment("5", "2026-11-24", "100", { state: "refunded" }),
  payment("6", "2026-11-24", "3", { asset: "B" }),
  payment("7", "2026-09-01", "1"),
];

const day = (date: string, averageLatencyMs: number | null, requests: number) =>
  ({ day: date, revenue: [], summary: { averageLatencyMs, requests } }) as never;

describe("figures", () => {
  test("the period is 30 days and ends today, in UTC", () => {
    expect(FIRST).toBe("2026-10-27T00:00:00.000Z");
    expect(daysOf(FIRST)).toHaveLength(30);
  });

  test("sums have every digit and leave out what did not land or was paid back", () => {
    expect(sumByAsset(PAYMENTS)).toEqual([
      { asset: "A", amount: "9007199254741006", payments: 4 },
      { asset: "B", amount: "3", payments: 1 },
    ]);
  });

  test("days have what landed on them in one token", () => {
    const days = sumByDay(PAYMENTS, "A", FIRST);
    expect([days[0], days[28], days[29]]).toEqual(["5", "0", "9007199254741000"]);
  });

  test("latency is weighted by requests, and a day without any is a gap", () => {
    const days = latencyByDay([day("2026-11-25", 100, 1), day("2026-11-25", 200, 3), day("2026-11-24", null, 0), day("2020-01-01", 9, 9)], FIRST);
    expect([days[28], days[29]]).toEqual([null, 175]);
  });

  test("the newest payments are in one order, each once", () => {
    const [one, two] = [payment("1", "2026-11-01", "1"), payment("2", "2026-11-02", "1")];
    expect(newest([one, two], [two], 5).map((each) => each.transaction)).toEqual(["2", "1"]);
    expect(newest([one, two], [], 1).map((each) => each.transaction)).toEqual(["2"]);
  });
});
