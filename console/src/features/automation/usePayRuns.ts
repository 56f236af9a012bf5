import { useEffect, useRef, useState } from "react";
import type { RunPaymentResult } from "@/api/automationTypes";
import type { RunOrder } from "@/api/automations";
import { payForRuns } from "@/api/automations";
import { complete, prepare, sign } from "@/payment/signPayment";
import type { TokenName } from "@/payment/terms";
import type { Wallet } from "@/wallet/wallet";
import type { PayFlow, PayOutcome, SignedRuns } from "./payRuns";
import { IDLE, loadRuns, outcomeOf, readRefusedOrder, storeRuns } from "./payRuns";

const AGAIN_MS = 5_000;

async function order(what: RunOrder, paymentSignature: string | null): Promise<PayOutcome> {
  try {
    return outcomeOf(await payForRuns(what, paymentSignature));
  } catch (error) {
    return readRefusedOrder(error, paymentSignature !== null);
  }
}

/**
 * The payment for the runs of a plan. One signature is made and sent until its outcome is known; a
 * second click, or an answer that comes late, neither signs nor pays.
 */
export function usePayRuns(id: string, onPaid: (result: RunPaymentResult) => void) {
  const [flow, setFlow] = useState<PayFlow>(() => {
    const payment = loadRuns(id);
    return payment ? { step: "waiting", payment, problem: null } : IDLE;
  });
  const current = useRef(flow);
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const move = (next: PayFlow) => {
    current.current = next;
    if (isHere.current) setFlow(next);
  };

  const take = (outcome: PayOutcome, what: RunOrder, payment: SignedRuns | null) => {
    if (outcome.kind === "open" && payment) {
      move({ step: "waiting", payment, problem: outcome.problem });
      return;
    }
    storeRuns(id, null);
    if (outcome.kind === "done") {
      move(IDLE);
      onPaid(outcome.result);
    } else if (outcome.kind === "offer") {
      move({ step: "offered", order: what, challenge: outcome.challenge, notice: outcome.notice, problem: null });
    } else if (outcome.kind === "ended") move({ step: "idle", problem: outcome.problem, notice: outcome.notice });
    else move({ step: "idle", problem: outcome.problem, notice: "It is not known yet what came of it. Read the page again." });
  };

  const ask = async (what: RunOrder) => {
    if (current.current.step !== "idle") return;
    move({ step: "asking" });
    take(await order(what, null), what, null);
  };

  const review = async (wallet: Wallet, token: TokenName) => {
    const before = current.current;
    const terms = before.step === "offered" ? before.challenge.accepts[0] : undefined;
    if (before.step !== "offered" || !terms) return;
    move({ step: "preparing", order: before.order, challenge: before.challenge });
    try {
      move({ ...before, step: "review", review: await prepare(terms, wallet, token), problem: null });
    } catch (problem) {
      move({ ...before, problem, notice: null });
    }
  };

  const send = async (payment: SignedRuns) => {
    storeRuns(id, payment); // before anything is sent
    move({ step: "sending", payment });
    take(await order(payment.order, payment.paymentSignature), payment.order, payment);
  };

  const finish = async () => {
    const before = current.current;
    if (before.step !== "completing") return;
    move({ ...before, problem: null });
    try {
      const paymentSignature = await complete(before.review, before.signature, before.challenge);
      await send({ order: before.order, paymentSignature, expiresAt: before.review.prepared.expiresAt });
    } catch (problem) {
      move({ ...before, problem });
    }
  };

  const signAndSend = async (wallet: Wallet) => {
    const before = current.current;
    if (before.step !== "review") return;
    move({ step: "signing", order: before.order, challenge: before.challenge, review: before.review });
    let signature: string;
    try {
      signature = await sign(before.review, wallet);
    } catch (problem) {
      move({ ...before, problem });
      return;
    }
    move({ ...before, step: "completing", signature, problem: null });
    await finish();
  };

  const again = async () => {
    const before = current.current;
    if (before.step === "waiting") await send(before.payment);
  };
  const latest = useRef(again);
  useEffect(() => {
    latest.current = again;
  });
  const isWaiting = flow.step === "waiting";
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void latest.current();
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isWaiting]);

  return {
    flow,
    ask: (what: RunOrder) => void ask(what),
    review: (wallet: Wallet, token: TokenName) => void review(wallet, token),
    sign: (wallet: Wallet) => void signAndSend(wallet),
    finish: () => void finish(),
    again: () => void again(),
    back: () => {
      const { step } = current.current;
      if (step === "offered" || step === "review") move(IDLE);
    },
  };
}

export type PayRuns = ReturnType<typeof usePayRuns>;
