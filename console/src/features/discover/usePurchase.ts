import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ApiError } from "@/api/errors";
import { keys } from "@/api/keys";
import { announce } from "@/ui/toast";
import { prepare, sign } from "@/payment/signPayment";
import type { Terms, TokenName } from "@/payment/terms";
import type { Wallet } from "@/wallet/wallet";
import { callResource, completePurchase, mayRepeat } from "./pay";
import { watchPayment } from "./continuePayments";
import type { CallArguments } from "./purchaseFlow";
import { dispatch, forget, readFlow, subscribe } from "./purchaseStore";

const isOutage = (error: unknown): boolean => error instanceof ApiError && mayRepeat(error);

async function ask(key: string, args: CallArguments): Promise<void> {
  if (dispatch(key, { type: "ask", call: args }).step !== "asking") return;
  try {
    dispatch(key, { type: "answered", outcome: await callResource(args) });
  } catch (problem) {
    dispatch(key, { type: "failed", problem, isOutage: isOutage(problem) });
  }
}

async function pay(key: string, terms: Terms, wallet: Wallet, token: TokenName): Promise<void> {
  const before = readFlow(key);
  if (before === dispatch(key, { type: "pay", terms })) return;
  try {
    dispatch(key, { type: "prepared", review: await prepare(terms, wallet, token) });
  } catch (problem) {
    dispatch(key, { type: "failed", problem, isOutage: isOutage(problem) });
  }
}

async function signAndSend(key: string, wallet: Wallet): Promise<void> {
  const before = readFlow(key);
  const flow = dispatch(key, { type: "sign" });
  if (flow === before || flow.step !== "signing") return;
  try {
    dispatch(key, { type: "signed", signature: await sign(flow.review, wallet) });
  } catch (problem) {
    dispatch(key, { type: "failed", problem, isOutage: false });
    return;
  }
  await completeAndSend(key);
}

async function completeAndSend(key: string): Promise<void> {
  const flow = readFlow(key);
  if (flow.step !== "completing") return;
  const { call, review, signature, challenge } = flow;
  try {
    const payment = await completePurchase(call, review, signature, challenge);
    if (dispatch(key, { type: "completed", payment }).step === "paying") await send(key);
  } catch (problem) {
    dispatch(key, { type: "failed", problem, isOutage: isOutage(problem) });
  }
}

/** Sends the signed payment, once; the state says whether it is sent again. */
async function send(key: string): Promise<void> {
  const flow = readFlow(key);
  if (flow.step !== "paying") return;
  const { call, paymentSignature } = flow.payment;
  try {
    const outcome = await callResource(call, paymentSignature);
    dispatch(key, { type: "sent", outcome, now: Date.now() });
    if (outcome.kind === "answered" && outcome.isPaid) announce("The payment was settled.", "good");
  } catch (problem) {
    const now = Date.now();
    if (mayRepeat(problem)) {
      const retryAfterSeconds = problem instanceof ApiError ? problem.retryAfterSeconds : null;
      dispatch(key, { type: "unanswered", problem, retryAfterSeconds, now });
    } else {
      const message = `${(problem as Error).message} Nothing was paid.`;
      const outcome = { kind: "not_paid" as const, message, delivery: null, isFailedOnLedger: false };
      dispatch(key, { type: "sent", outcome, now });
    }
  }
}

async function sendAgain(key: string): Promise<void> {
  const before = readFlow(key);
  const flow = dispatch(key, { type: "due" });
  if (flow !== before && flow.step === "paying") await send(key);
}

/** Continues an unfinished payment of this tab, from whichever page. */
export const continuePayment = (key: string): void => watchPayment(key, (each) => void sendAgain(each));

/** The purchase at a listing, and what a person can do in its present state. */
export function usePurchase(key: string) {
  const client = useQueryClient();
  const flow = useSyncExternalStore(subscribe, () => readFlow(key));
  useEffect(() => continuePayment(key), [key]);
  const hasEnded = flow.step === "ended" && flow.payment !== null;
  useEffect(() => {
    if (!hasEnded) return;
    for (const queryKey of [keys.payments, keys.accounts, keys.wrappers]) void client.invalidateQueries({ queryKey });
  }, [client, hasEnded]);
  return {
    flow,
    ask: (args: CallArguments) => void ask(key, args),
    pay: (terms: Terms, wallet: Wallet, token: TokenName) => void pay(key, terms, wallet, token),
    sign: (wallet: Wallet) => void signAndSend(key, wallet),
    completeAgain: () => {
      const before = readFlow(key);
      if (dispatch(key, { type: "complete" }) !== before) void completeAndSend(key);
    },
    sendAgain: () => void sendAgain(key),
    back: () => dispatch(key, { type: "back" }),
    forget: () => forget(key),
  };
}

export type Purchase = ReturnType<typeof usePurchase>;
