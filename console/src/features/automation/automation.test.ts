import { describe, expect, test } from "vitest";
import type { Plan, PlanStatus } from "@/api/automationTypes";
import { WalletProblem } from "@/wallet/wallet";
import { sinceSigned, signVerb } from "./installSession";
import { explainPlan, STATUSES, stepOf } from "./planStates";
import { legsOf, readCells, readRecipients, recipientsCsv } from "./recipients";
import { mayRetry, whyOf } from "./runStates";
import { describeSchedule, momentText, readMoment, scheduleOf, scheduleProblems } from "./scheduleDraft";

const ANNA = `G${"A".repeat(55)}`;
const BERT = `G${"B".repeat(55)}`;
const SHORTEST = { interval: 60, poll: 30 };

describe("recipients", () => {
  test("a pasted table with headings, quotes and references is read", () => {
    const text = `address,amount,reference\r\n${ANNA},12.5,"Rent, May"\r\n\r\n${BERT}\t3\tsays ""hi""\r\n`;
    const lines = readRecipients(text, 7);
    expect(lines.map(({ line, amount, ref, problem }) => [line, amount, ref, problem])).toEqual([
      [2, "12.5", "Rent, May", null],
      [4, "3", 'says ""hi""', null],
    ]);
    expect(legsOf(lines, 7).map((each) => each.amount)).toEqual(["125000000", "30000000"]);
  });

  test("what is wrong stands at its line, and a duplicate is marked", () => {
    const lines = readRecipients(`${ANNA},1\nGNOBODY,1\n${BERT},0\n${BERT},0.00000001\n${ANNA},2\n${ANNA},1,a,b`, 7);
    expect(lines.map(({ isDuplicate }) => isDuplicate)).toEqual([false, false, false, true, true, true]);
    expect(lines[0]?.problem).toBeNull();
    expect(lines[1]?.problem).toContain("address");
    expect(lines[2]?.problem).toContain("above 0");
    expect(lines[3]?.problem).toContain("7 decimals");
    expect(lines[4]?.problem).toBe("This recipient is there before.");
    expect(lines[5]?.problem).toContain("A line has");
  });

  test("what is written as CSV is read as the same recipients", () => {
    const legs = [
      { to: ANNA, amount: "125000000", ref: "=SUM(A1), \"x\"\nsecond line" },
      { to: BERT, amount: "1" },
    ];
    expect(legsOf(readRecipients(recipientsCsv(legs, 7), 7), 7)).toEqual(legs);
    expect(legsOf(readRecipients(recipientsCsv(legs, null), null), null)).toEqual(legs);
  });

  test("a quoted cell may have line ends, and keeps the number of its first line", () => {
    expect(readCells('a,"b\nc"\nd')).toEqual([
      { line: 1, cells: ["a", "b\nc"] },
      { line: 3, cells: ["d"] },
    ]);
  });
});

const wrong = (draft: Record<string, string>): string[] =>
  Object.entries(scheduleProblems(draft, SHORTEST)).flatMap(([name, problem]) => (problem === undefined ? [] : [name]));

describe("schedules", () => {
  test("each type of a schedule is made of its fields", () => {
    const at = momentText(Date.parse("2026-12-01T08:30:00Z"));
    expect(readMoment(at)).toBe("2026-12-01T08:30:00Z");
    expect(scheduleOf({ scheduleType: "once", onceAt: at })).toEqual({ type: "once", at: "2026-12-01T08:30:00Z" });
    expect(scheduleOf({ scheduleType: "interval", every: "2", everyUnit: "hours", startAt: at })).toEqual({
      type: "interval",
      everySeconds: 7_200,
      startAt: "2026-12-01T08:30:00Z",
    });
    expect(scheduleOf({ scheduleType: "cron", cron: " 0  8 * * 1 ", timezone: "Europe/Paris" })).toEqual({
      type: "cron",
      expr: "0 8 * * 1",
      timezone: "Europe/Paris",
    });
    expect(scheduleOf({ scheduleType: "condition", pollSeconds: "30" })).toEqual({ type: "condition", everySeconds: 30 });
  });

  test("an interval that is too short and fields that are empty are found", () => {
    expect(wrong({ scheduleType: "interval", every: "1", everyUnit: "minutes", startAt: "2026-12-01T08:30" })).toEqual([]);
    expect(wrong({ scheduleType: "interval", every: "0", everyUnit: "minutes", startAt: "" })).toEqual(["every", "startAt"]);
    expect(wrong({ scheduleType: "condition", pollSeconds: "29" })).toEqual(["pollSeconds"]);
    expect(wrong({ scheduleType: "cron", cron: "* * *", timezone: "" })).toEqual(["cron", "timezone"]);
    expect(wrong({ scheduleType: "once", onceAt: "tomorrow" })).toEqual(["onceAt"]);
  });

  test("a schedule is said in the largest unit that fits", () => {
    expect(describeSchedule({ type: "interval", everySeconds: 604_800, startAt: "" })).toBe("Every week");
    expect(describeSchedule({ type: "interval", everySeconds: 5_400, startAt: "" })).toBe("Every 90 minutes");
    expect(describeSchedule({ type: "interval", everySeconds: 61, startAt: "" })).toBe("Every 61 seconds");
  });
});

describe("states", () => {
  const plan = { status: "proposed", statusReason: null, isCancelling: false, authorityMode: "mandate", nextRuns: [], runsSucceeded: 1 };
  const planIn = (changes: object): Plan => ({ ...plan, ...changes }) as unknown as Plan;

  test("every status has a sentence of what happened and one of what to do", () => {
    for (const status of Object.keys(STATUSES) as PlanStatus[]) {
      const { happened, next } = explainPlan(planIn({ status }));
      expect([status, happened.endsWith("."), next.endsWith(".")]).toEqual([status, true, true]);
    }
  });

  test("a pause says its reason, and one that is not known is a pause all the same", () => {
    expect(explainPlan(planIn({ status: "paused", statusReason: "low_balance" })).next).toContain("Fund the account");
    expect(explainPlan(planIn({ status: "paused", statusReason: "of_tomorrow" })).happened).toBe("The plan is paused.");
  });

  test("a plan that is being cancelled says so before its status", () => {
    expect(explainPlan(planIn({ status: "active", isCancelling: true })).happened).toContain("being cancelled");
  });

  test("the step that is next follows the status", () => {
    expect((["proposed", "payment_pending", "paid", "active"] as const).map((status) => stepOf({ status }))).toEqual([1, 1, 2, 4]);
  });

  test("only a failed run inside its window may be run again", () => {
    const run = { state: "failed", deadlineAt: "2026-12-01T09:00:00Z" };
    const deadline = Date.parse(run.deadlineAt);
    expect([mayRetry(run, deadline - 1), mayRetry(run, deadline), mayRetry({ ...run, state: "succeeded" }, 0)]).toEqual([true, false, false]);
    expect(whyOf({ reason: "insufficient_balance", errorCode: null })).toBe("Reason: insufficient balance.");
    expect(whyOf({ reason: null, errorCode: null })).toBeNull();
  });
});

describe("signatures of a plan that is signed ahead", () => {
  test("the button says how many are left", () => {
    expect([signVerb(1, 0), signVerb(12, 0), signVerb(12, 1), signVerb(12, 12)]).toEqual([
      "Sign and activate",
      "Sign 12 times and activate",
      "Sign the other 11 and activate",
      "Activate the plan",
    ]);
  });

  test("a wallet that declines in the middle does not say that nothing was signed", () => {
    const declined = new WalletProblem("declined", "You declined in Freighter. Nothing was signed.");
    expect(sinceSigned(declined, 0)).toBe(declined);
    const kept = sinceSigned(declined, 2);
    expect(kept).toMatchObject({ kind: "declined" });
    expect(String(kept)).toContain("You declined in Freighter. The 2 signatures before it are kept on this page; nothing was sent.");
    const other = new Error("Nothing was signed.");
    expect(sinceSigned(other, 2)).toBe(other);
  });
});
