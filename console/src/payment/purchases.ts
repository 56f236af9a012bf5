import type { Owner } from "@/api/session";
import type { Wallet } from "@/wallet/wallet";
import type { Flow, FlowEvent } from "./flow";
import { nextFlow, openPayment, START } from "./flow";
import type { Kept } from "./keptPayments";
import { canKeep, drop, inTurn, keep, listKept, nameOf, onKeptElsewhere, placeOf, readKept } from "./keptPayments";
import { hasEnded, isOnLedger } from "./ledger";
import type { Outcome } from "./outcome";
import { openOutcome, unsent } from "./outcome";
import type { Seller } from "./seller";
import { PurchaseProblem } from "./seller";
import type { SignedPayment } from "./signedPayment";
import { signedPayment } from "./signedPayment";
import { complete, isRefusedCompletion, prepare, sign } from "./signPayment";
import type { Terms, TokenName } from "./terms";

const BUSY = "Another tab of this browser is signing or sending a payment for this. Go on there. Nothing was signed here.";
const NO_LOCKS = "This browser cannot keep two tabs from paying at once on this page: open the page by https. Nothing was signed.";
const NOT_KEPT = "This browser keeps no more payments for this page, so one whose outcome is unknown could be lost. Nothing was sent.";
const OTHERS = "The wallet's account has a payment for this that is not finished. Sign in as you were when you made it. Nothing was signed.";
const GONE = "Another tab has finished this payment, or the browser's data was cleared. Look at Payments before you pay again.";

/**
 * The purchases of one kind, by the names of what is kept. They outlive the page that shows them. A
 * signed payment is kept before anything is sent, and dropped when its outcome is known.
 */
export class Purchases<R, A> {
  readonly #seller: Seller<R, A>;
  readonly #flows = new Map<string, Flow<R, A>>();
  readonly #listeners = new Set<() => void>();

  constructor(seller: Seller<R, A>) {
    this.#seller = seller;
    onKeptElsewhere((name) => {
      if (placeOf(name)?.kind !== seller.kind) return;
      this.#follow(name);
      this.#notify(); // also where nothing but the list of what is open has changed
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The name of an account's purchase of a thing. */
  nameOf(owner: Owner | null, key: string): string {
    return nameOf({ kind: this.#seller.kind, owner: owner?.id ?? null, key });
  }

  /** The unfinished payments of an account. */
  open(owner: Owner | null): Kept[] {
    const { kind, isRequest } = this.#seller;
    return listKept().filter(
      ({ place, payment }) => place.kind === kind && place.owner === (owner?.id ?? null) && isRequest(payment.request),
    );
  }

  /** Makes those an account's own that it paid before it signed in. */
  adopt(owner: Owner): void {
    for (const { name, place, payment } of this.open(null)) {
      const own = this.nameOf(owner, place.key);
      const isOwn = payment.payer === owner.address && payment.terms.network === owner.network;
      if (!isOwn || readKept(own) || !keep(own, payment)) continue;
      drop(name);
      this.#flows.delete(name);
      this.#follow(own);
    }
  }

  read(name: string): Flow<R, A> {
    let flow = this.#flows.get(name);
    if (!flow) {
      const payment = this.#kept(name);
      flow = payment ? nextFlow<R, A>(START, { type: "resumed", payment, now: performance.now() }) : START;
      this.#flows.set(name, flow);
    }
    return flow;
  }

  #kept(name: string): SignedPayment<R> | null {
    const payment = readKept(name);
    return payment && this.#seller.isRequest(payment.request) ? (payment as unknown as SignedPayment<R>) : null;
  }

  /** Applies an event, keeps what must outlive the tab before anything is sent, and returns the state. */
  #dispatch(name: string, event: FlowEvent<R, A>): Flow<R, A> {
    const before = this.read(name);
    const after = nextFlow(before, event);
    if (after === before) return before;
    const [was, is] = [openPayment(before), openPayment(after)];
    if (was !== is && event.type !== "resumed" && event.type !== "gone") {
      if (is) keep(name, is);
      else drop(name);
    }
    this.#flows.set(name, after);
    this.#notify();
    return after;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Takes over what another tab did. */
  #follow(name: string): void {
    const payment = this.#kept(name);
    if (payment) this.#dispatch(name, { type: "resumed", payment, now: performance.now() });
    else this.#dispatch(name, { type: "gone", problem: new PurchaseProblem("ended_elsewhere", GONE) });
  }

  /** Does what a step waits for; what is thrown ends the step, with nothing sent. */
  async #attempt(name: string, step: () => Promise<FlowEvent<R, A>>): Promise<Flow<R, A>> {
    try {
      return this.#dispatch(name, await step());
    } catch (problem) {
      return this.#dispatch(name, { type: "failed", problem });
    }
  }

  async ask(name: string, request: R): Promise<void> {
    if (this.#dispatch(name, { type: "ask", request }).step !== "asking") return;
    await this.#attempt(name, async () => ({ type: "answered", outcome: await this.#seller.ask(request) }));
  }

  async pay(name: string, terms: Terms, wallet: Wallet, token: TokenName): Promise<void> {
    const before = this.read(name);
    if (before === this.#dispatch(name, { type: "pay", terms })) return;
    await this.#attempt(name, async () => ({ type: "prepared", review: await prepare(terms, wallet, token) }));
  }

  /** Has the wallet sign, keeps the payment, and sends it: in one turn, so that no other tab signs one for the same. */
  async sign(name: string, wallet: Wallet): Promise<void> {
    const before = this.read(name);
    const flow = this.#dispatch(name, { type: "sign" });
    if (flow === before || flow.step !== "signing") return;
    const turn = await inTurn(this.#lock(name), async () => {
      const after = await this.#attempt(name, async () => {
        const { request, review, challenge } = flow;
        const paymentOf = (signature: string) => signedPayment(request, review, signature, challenge, this.#seller.keepsIdentifier);
        this.#check(name, review.payer, paymentOf("x".repeat(512)));
        const payment = paymentOf(await sign(review, wallet));
        if (!keep(name, payment)) throw new PurchaseProblem("not_kept", NOT_KEPT);
        return { type: "signed", payment };
      });
      if (after.step === "paying") await this.#send(name, after.payment);
    });
    if (turn === "busy") this.#dispatch(name, { type: "failed", problem: new PurchaseProblem("unfinished_payment", BUSY) });
    if (turn === "impossible") this.#dispatch(name, { type: "failed", problem: new PurchaseProblem("not_kept", NO_LOCKS) });
    if (this.read(name).step === "review" && this.#kept(name)) this.#follow(name);
  }

  readonly #lock = (name: string): string => `farebox.pay.${this.#seller.kind}.${placeOf(name)?.key ?? name}`;

  /** Refuses a second payment for what has an unfinished one, and one that could not be kept. */
  #check(name: string, payer: string, payment: SignedPayment<R>): void {
    const { kind } = this.#seller;
    const key = placeOf(name)?.key;
    const open = listKept().filter(({ place }) => place.kind === kind && place.key === key);
    if (open.some((each) => each.name === name)) throw new PurchaseProblem("unfinished_payment", BUSY);
    if (open.some((each) => each.payment.payer === payer)) throw new PurchaseProblem("unfinished_payment", OTHERS);
    if (!canKeep(payment)) throw new PurchaseProblem("not_kept", NOT_KEPT);
  }

  /** Sends a waiting payment again, or looks what became of it: once in all tabs. */
  async proceed(name: string, isAsked: boolean): Promise<void> {
    if (this.read(name).step !== "waiting") return;
    const step = async () => {
      const [flow, payment] = [this.read(name), this.#kept(name)];
      if (flow.step !== "waiting") return;
      if (!payment) this.#follow(name);
      else if (isAsked || flow.last.mayRepeat) {
        const after = this.#dispatch(name, { type: "due", payment });
        if (after.step === "paying") await this.#send(name, after.payment);
      } else await this.#look(name, payment);
    };
    const turn = await inTurn(this.#lock(name), step);
    if (turn === "impossible") await step(); // the same bytes, which are never charged twice
    if (turn === "busy") this.#dispatch(name, { type: "busy", now: performance.now() });
  }

  async #look(name: string, payment: SignedPayment<R>): Promise<void> {
    const { transaction } = payment;
    const [isOver, isPaid] = await Promise.all([
      hasEnded(payment),
      transaction === null ? false : isOnLedger(transaction, payment),
    ]);
    this.#dispatch(name, { type: "looked", isOver, isPaid, now: performance.now() });
  }

  /** Sends the payment, once; the state says whether it is sent again. */
  async #send(name: string, payment: SignedPayment<R>): Promise<void> {
    const outcome = await this.#sendOnce(name, payment);
    const isKnown = outcome.kind === "answered" || outcome.kind === "undelivered";
    const isOver = !isKnown && (await hasEnded(payment));
    this.#dispatch(name, { type: "sent", outcome, isOver, now: performance.now() });
  }

  async #sendOnce(name: string, payment: SignedPayment<R>): Promise<Outcome<A>> {
    const { terms, completion } = payment;
    let { paymentSignature } = payment;
    try {
      if (paymentSignature === null && completion) {
        paymentSignature = await complete(terms, completion);
        this.#dispatch(name, { type: "completed", paymentSignature });
      }
    } catch (problem) {
      return unsent(problem, !isRefusedCompletion(problem));
    }
    if (paymentSignature === null || readKept(name)?.paymentSignature !== paymentSignature) {
      return unsent(new PurchaseProblem("not_kept", "This browser does not keep the payment, so it is not sent."), true);
    }
    try {
      return await this.#seller.send(payment, paymentSignature);
    } catch (problem) {
      return openOutcome({ message: "It is not known yet whether the payment was settled.", problem });
    }
  }

  back(name: string): void {
    this.#dispatch(name, { type: "back" });
    if (this.read(name).step === "form" && this.#kept(name)) this.#follow(name); // another tab has begun one
  }

  /** Ends a purchase whose outcome stayed unknown: the person has looked, and its last ledger has passed. */
  forget(name: string): void {
    const flow = this.read(name);
    if (flow.step !== "waiting" || !flow.payment.isOver) return;
    drop(name);
    this.#flows.set(name, START);
    this.#notify();
  }
}
