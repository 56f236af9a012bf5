import { describe, expect, test } from "vitest";
import type { Payment, Side, State } from "./paymentState";
import { explain, sideOf, STATES } from "./paymentState";

const PAYER = `G${"P".repeat(55)}`;
const SELLER = `G${"S".repeat(55)}`;

function payment(state: State, changes: Partial<Payment> = {}): Payment {
  const transaction = "ab".repeat(32);
  return {
    transaction,
    network: "stellar:testnet",
    asset: `C${"A".repeat(55)}`,
    amount: "10000",
    payTo: SELLER,
    state,
    receipt: { success: true, transaction, network: "stellar:testnet", payer: PAYER },
    sentAt: "2026-11-23T09:30:00Z",
    settledAt: null,
    attemptsLeft: 0,
    refund: null,
    ...changes,
  };
}

const SALE = {
  wrapper: "wrp_1", slug: "forecast", method: "GET", path: "/", attempts: 5, upstreamStatus: 500, paidAt: null, endedAt: null,
};

test("sideOf is the payer, the recipient or the wrapper's owner, else neither", () => {
  expect(sideOf(payment("settled"), PAYER)).toBe("payer");
  expect(sideOf(payment("settled"), SELLER)).toBe("seller");
  expect(sideOf(payment("settled", { sale: SALE }), `G${"O".repeat(55)}`)).toBe("seller");
  expect(sideOf(payment("settled"), null)).toBe("other");
});

describe("explain", () => {
  test.each(Object.keys(STATES) as State[])("says what happened and what to do in the state %s", (state) => {
    for (const side of ["payer", "seller", "other"] satisfies Side[]) {
      const { happened, next } = explain(payment(state), side);
      expect(happened).toMatch(/\.$/);
      expect(next).toMatch(/\.$/);
    }
  });

  test("never tells a payer to pay again while the money may have moved", () => {
    expect(explain(payment("pending"), "payer").next).toContain("Do not pay again");
    const paid = explain(payment("paid", { attemptsLeft: 1 }), "payer").next;
    expect(paid).toContain("once more");
    expect(paid).toContain("Do not sign a second payment");
    expect(explain(payment("paid", { attemptsLeft: 4 }), "payer").next).toContain("4 more times");
  });

  test("asks the wrapper's owner alone to record a refund", () => {
    expect(explain(payment("owed", { sale: SALE }), "seller").next).toContain("record the refund below");
    expect(explain(payment("owed"), "payer").next).toContain("The seller owes you");
    expect(explain(payment("owed"), "seller").next).not.toContain("below");
  });
});
