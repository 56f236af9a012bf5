import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keys } from "@/api/keys";
import type { Owner } from "@/api/session";
import { nameOf, keep, listKept } from "./keptPayments";
import { openOutcome } from "./outcome";
import { Purchases } from "./purchases";
import type { Seller } from "./seller";
import { OVER, PAYER, provideLocks, serveTestService, TERMS } from "./service.testing";
import type { SignedPayment } from "./signedPayment";
import { usePurchase, Watch } from "./usePurchase";

const OWNER: Owner = { id: "usr_1", network: "stellar:testnet", address: PAYER, expiresAt: null };
const OTHER: Owner = { id: "usr_2", network: "stellar:testnet", address: "GOTHER", expiresAt: null };
const PAYMENT: SignedPayment<{ url: string }> = {
  request: { url: "x" },
  terms: TERMS,
  payer: PAYER,
  paymentSignature: "signed",
  completion: null,
  expirationLedger: OVER - 24,
  expiresAt: "2026-11-25T10:01:00Z",
  attempts: 1,
  unaccounted: 1,
  transaction: null,
  isPaid: false,
  isOver: false,
};

let sent: string[];
let settled = 0;
const seller: Seller<{ url: string }, string> = {
  kind: "test",
  isRequest: () => true,
  keepsIdentifier: false,
  ask: () => Promise.resolve(openOutcome({ message: "" })),
  send: (_, paymentSignature) => {
    sent.push(paymentSignature);
    return Promise.resolve({ kind: "answered", answer: "sunny", isPaid: true, isProven: true, transaction: null });
  },
};

beforeEach(async () => {
  await serveTestService();
  localStorage.clear();
  provideLocks();
  sent = [];
  settled = 0;
});
afterEach(cleanup);

function visit(owner: Owner | null) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, queryFn: () => owner } } });
  client.setQueryData(keys.owner, owner);
  const purchases = new Purchases(seller);
  const watch = new Watch(purchases, () => (settled += 1));
  const wrapper = ({ children }: { children: ReactNode }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>;
  return renderHook(() => usePurchase(purchases, watch, "thing"), { wrapper }).result;
}

test("the next visit of the account goes on with its payment by itself", async () => {
  keep(nameOf({ kind: "test", owner: OWNER.id, key: "thing" }), PAYMENT);
  const page = visit(OWNER);
  await waitFor(() => expect(page.current.flow).toMatchObject({ step: "ended", outcome: { answer: "sunny" } }));
  expect([sent, listKept(), settled]).toEqual([["signed"], [], 1]);
});

test("the visit of another account, or of nobody, neither sees nor sends it", async () => {
  keep(nameOf({ kind: "test", owner: OWNER.id, key: "thing" }), PAYMENT);
  keep(nameOf({ kind: "test", owner: OTHER.id, key: "thing" }), { ...PAYMENT, paymentSignature: "of the other" });
  expect(visit(null).current.flow.step).toBe("form");
  const other = visit(OTHER);
  await waitFor(() => expect(other.current.flow.step).toBe("ended"));
  expect(sent).toEqual(["of the other"]);
  expect(listKept().map(({ place }) => place.owner)).toEqual([OWNER.id]);
});

test("what was paid before the sign-in is found after it", async () => {
  keep(nameOf({ kind: "test", owner: null, key: "thing" }), PAYMENT);
  const page = visit(OWNER);
  await waitFor(() => expect(page.current.flow.step).toBe("ended"));
  expect([sent, listKept()]).toEqual([["signed"], []]);
});
