import { isRecord } from "@/api/records";
import { isTerms } from "@/payment/terms";
import type { Flow, FlowEvent, SignedPayment } from "./purchaseFlow";
import { nextFlow, openPayment, START } from "./purchaseFlow";

/**
 * The purchases of this tab, by the key of their listing. They outlive the page that shows them;
 * a signed payment is kept in the tab's session storage until its outcome is final, so that a
 * reload continues with the same signature.
 */
const PREFIX = "farebox.payment.";
const flows = new Map<string, Flow>();
const listeners = new Set<() => void>();

/** Reads a stored payment; anything else than one of ours is none. */
export function readStored(text: string | null): SignedPayment | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || !isRecord(value["call"]) || !isTerms(value["terms"])) return null;
  const texts = [value["payer"], value["paymentSignature"], value["expiresAt"], value["call"]["url"]];
  if (!texts.every((each) => typeof each === "string") || typeof value["attempts"] !== "number") return null;
  return { ...(value as unknown as SignedPayment), isPaid: value["isPaid"] === true };
}

function store(key: string, payment: SignedPayment | null): void {
  try {
    if (payment) sessionStorage.setItem(PREFIX + key, JSON.stringify(payment));
    else sessionStorage.removeItem(PREFIX + key);
  } catch {
    // storage is switched off: the payment lives as long as the tab is not reloaded
  }
}

function load(key: string): Flow {
  let text: string | null = null;
  try {
    text = sessionStorage.getItem(PREFIX + key);
  } catch {
    text = null;
  }
  const payment = readStored(text);
  return payment ? nextFlow(START, { type: "resumed", payment }) : START;
}

export function readFlow(key: string): Flow {
  let flow = flows.get(key);
  if (!flow) {
    flow = load(key);
    flows.set(key, flow);
  }
  return flow;
}

/** Applies an event, stores what must survive a reload before anything is sent, and returns the state. */
export function dispatch(key: string, event: FlowEvent): Flow {
  const before = readFlow(key);
  const after = nextFlow(before, event);
  if (after === before) return before;
  const [was, is] = [openPayment(before), openPayment(after)];
  if (was !== is) store(key, is);
  flows.set(key, after);
  for (const listener of listeners) listener();
  return after;
}

/** Ends a purchase whose outcome stayed unclear: the person has looked, and the authorization has expired. */
export function forget(key: string): void {
  store(key, null);
  flows.set(key, START);
  for (const listener of listeners) listener();
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The payments of this tab that are not finished, with the keys of their listings. */
export function openPayments(): { key: string; payment: SignedPayment }[] {
  const found: { key: string; payment: SignedPayment }[] = [];
  try {
    for (let index = 0; index < sessionStorage.length; index += 1) {
      const name = sessionStorage.key(index) ?? "";
      const payment = name.startsWith(PREFIX) ? readStored(sessionStorage.getItem(name)) : null;
      if (payment) found.push({ key: name.slice(PREFIX.length), payment });
    }
  } catch {
    return found;
  }
  return found;
}
