import { useEffect, useRef } from "react";
import type { RunPaymentResult } from "@/api/automationTypes";
import { usePurchase } from "@/payment/usePurchase";
import type { RunsPurchase } from "./payRuns";
import { runPurchases, runWatch } from "./payRuns";

/** The payment for the runs of a plan; `onPaid` is called once, with what the service made of it. */
export function usePayRuns(id: string, onPaid: (result: RunPaymentResult) => void): RunsPurchase {
  const purchase = usePurchase(runPurchases, runWatch, id);
  const { flow, back } = purchase;
  const paid = flow.step === "ended" && flow.outcome.kind === "answered" ? flow.outcome.answer : null;
  const latest = useRef({ back, onPaid });
  useEffect(() => {
    latest.current = { back, onPaid };
  });
  useEffect(() => {
    if (!paid) return;
    latest.current.back();
    latest.current.onPaid(paid);
  }, [paid]);
  return purchase;
}

const ignore = (): void => {};

/** Goes on with an unfinished payment for the runs of a plan, in whatever state the plan is. */
export function useOpenRuns(id: string): void {
  usePayRuns(id, ignore);
}
