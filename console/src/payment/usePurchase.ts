import { useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { keys } from "@/api/keys";
import type { Owner } from "@/api/session";
import { useOwnerQuery } from "@/api/session";
import type { Wallet } from "@/wallet/wallet";
import type { Flow } from "./flow";
import type { Purchases } from "./purchases";
import type { Terms, TokenName } from "./terms";

type Due = { dueAt: number; timer: ReturnType<typeof setTimeout> };

/**
 * Goes on with the unfinished payments of the signed-in account when they are due: also while the
 * person looks at another page, and not while the tab is hidden or another account is signed in.
 */
export class Watch<R, A> {
  readonly #purchases: Purchases<R, A>;
  readonly #timers = new Map<string, Due>();
  readonly #watched = new Map<string, string>();
  readonly #open = new Set<string>();
  readonly #onSettled: () => void;
  #client: QueryClient | null = null;

  /** `onSettled` is called when a payment of the signed-in account has ended with what it was for. */
  constructor(purchases: Purchases<R, A>, onSettled: () => void = () => {}) {
    this.#purchases = purchases;
    this.#onSettled = onSettled;
  }

  /** Watches a purchase from now on. */
  add(client: QueryClient, name: string, key: string): void {
    if (this.#client === null) {
      this.#purchases.subscribe(() => this.#watched.forEach((_, each) => this.#schedule(each)));
      this.#purchases.subscribe(() => this.#watched.forEach((_, each) => this.#notice(each)));
      document.addEventListener("visibilitychange", () => this.#watched.forEach((_, each) => this.#look(each)));
    }
    this.#client = client;
    this.#watched.set(name, key);
    this.#schedule(name);
  }

  #isPresent(name: string): boolean {
    const owner = this.#client?.getQueryData<Owner | null>(keys.owner) ?? null;
    return this.#purchases.nameOf(owner, this.#watched.get(name) ?? "") === name;
  }

  #notice(name: string): void {
    const flow = this.#purchases.read(name);
    if (flow.step === "paying") this.#open.add(name);
    else if (flow.step !== "waiting" && this.#open.delete(name) && flow.step === "ended") {
      if (flow.outcome.kind === "answered" && flow.outcome.isProven && this.#isPresent(name)) this.#onSettled();
    }
  }

  #look(name: string): void {
    const flow = this.#purchases.read(name);
    if (flow.step !== "waiting" || !this.#isPresent(name) || document.hidden) return;
    if (performance.now() < flow.dueAt) this.#schedule(name);
    else void this.#purchases.proceed(name, false);
  }

  #schedule(name: string): void {
    const flow = this.#purchases.read(name);
    const isDone = flow.step !== "waiting" || (!flow.last.mayRepeat && flow.payment.isOver);
    const dueAt = isDone ? null : flow.dueAt;
    const known = this.#timers.get(name);
    if ((known?.dueAt ?? null) === dueAt) return;
    clearTimeout(known?.timer);
    this.#timers.delete(name);
    if (dueAt === null) return;
    const look = () => {
      this.#timers.delete(name);
      this.#look(name);
    };
    const timer = setTimeout(look, Math.max(0, dueAt - performance.now()));
    this.#timers.set(name, { dueAt, timer });
  }
}

/** The purchase of a thing by the signed-in account, and what a person can do in its present state. */
export function usePurchase<R, A>(purchases: Purchases<R, A>, watch: Watch<R, A>, key: string) {
  const client = useQueryClient();
  const { data: owner, isPending } = useOwnerQuery();
  const name = purchases.nameOf(owner ?? null, key);
  const flow = useSyncExternalStore(purchases.subscribe, () => purchases.read(name));
  useEffect(() => {
    if (isPending) return;
    if (owner) purchases.adopt(owner);
    watch.add(client, name, key);
  }, [client, purchases, watch, name, key, owner, isPending]);
  const hasEnded = flow.step === "ended" && flow.payment !== null;
  useEffect(() => {
    if (!hasEnded) return;
    for (const queryKey of [keys.payments, keys.accounts, keys.wrappers]) void client.invalidateQueries({ queryKey });
  }, [client, hasEnded]);
  return {
    flow: flow as Flow<R, A>,
    /** Whether it is not known yet who is signed in. */
    isPending,
    ask: (request: R) => void purchases.ask(name, request),
    pay: (terms: Terms, wallet: Wallet, token: TokenName) => void purchases.pay(name, terms, wallet, token),
    sign: (wallet: Wallet) => void purchases.sign(name, wallet),
    sendAgain: () => void purchases.proceed(name, true),
    back: () => purchases.back(name),
    forget: () => purchases.forget(name),
  };
}

export type Purchase<R, A> = ReturnType<typeof usePurchase<R, A>>;
