import { useState } from "react";
import type { Plan, Quote, RunPaymentResult } from "@/api/automationTypes";
import { NETWORK_NAMES } from "@/api/networks";
import { PayProblem } from "@/payment/PayProblem";
import { PurchaseProblem } from "@/payment/seller";
import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Note } from "@/ui/Note";
import { Facts } from "@/ui/Page";
import { Loading, Problem } from "@/ui/PageState";
import { Time } from "@/ui/Time";
import type { Wallet } from "@/wallet/wallet";
import { chosenWallet, WALLETS } from "@/wallet/wallets";
import styles from "./Automation.module.css";
import type { RunsFlow, RunsPurchase } from "./payRuns";
import { usePlanTokens } from "./planTokens";
import { QuoteText } from "./QuoteText";
import { usePayRuns } from "./usePayRuns";

interface PayForRunsProps {
  plan: Plan;
  quote: Quote | null;
  isTopUp?: boolean;
  onPaid: (result: RunPaymentResult) => void;
}

/** The order: how many runs. A price of 0 is paid by the click. */
function Order({ plan, quote, isTopUp, pay, flow }: PayForRunsProps & { pay: RunsPurchase; flow: RunsFlow }) {
  const most = plan.runLimit - plan.runsCredited;
  const [typed, setTyped] = useState(isTopUp ? String(most) : "");
  const runs = typed === "" ? null : /^\d{1,7}$/.test(typed) ? Number(typed) : 0;
  const isFine = runs === null ? !isTopUp : runs >= 1 && runs <= most;
  const isFree = quote?.isFree === true;
  return (
    <div className="stack">
      {flow.step === "ended" && flow.outcome.kind === "refused" && <Note tone="warn">{flow.outcome.message}</Note>}
      {flow.step === "form" && flow.problem !== null && <Problem error={flow.problem} isSmall />}
      {quote !== null && !isTopUp && <QuoteText quote={quote} />}
      {(isTopUp || (!isFree && most > 1)) && (
        <Field
          label="Runs to pay for now"
          inputMode="numeric"
          maxLength={7}
          placeholder={String(most)}
          hint={isTopUp ? `The plan takes ${most} more.` : `Empty: all ${most}. The rest can be paid later.`}
          error={isFine ? undefined : `A whole number from 1 to ${most}.`}
          value={typed}
          onChange={setTyped}
        />
      )}
      <Actions>
        <Button
          kind="primary"
          isPending={flow.step === "asking"}
          disabled={!isFine}
          onClick={() => pay.ask({ id: plan.id, runs, isTopUp: isTopUp ?? false })}
        >
          {isFree ? "Take the runs" : "Pay for the runs"}
        </Button>
      </Actions>
    </div>
  );
}

function Offer({ plan, flow, pay }: { plan: Plan; flow: Extract<RunsFlow, { step: "offered" | "preparing" }>; pay: RunsPurchase }) {
  const [walletId, setWalletId] = useState(() => chosenWallet().id);
  const wallet = WALLETS.find((each) => each.id === walletId) ?? chosenWallet();
  const { tokenOf } = usePlanTokens(plan.network);
  const [terms] = flow.challenge.accepts;
  if (!terms) return <Note tone="warn">The service asks for a payment that this console cannot make.</Note>;
  const token = tokenOf(terms.asset);
  const isPending = flow.step === "preparing";
  return (
    <div className="stack">
      {flow.step === "offered" && flow.notice !== null && <Note tone="warn">{flow.notice}</Note>}
      {flow.step === "offered" && flow.problem !== null && <PayProblem problem={flow.problem} />}
      <Facts
        items={[
          ["Price", <strong key="price"><Money amount={terms.amount} {...token} /></strong>],
          ["Network", NETWORK_NAMES[terms.network]],
          ["Paid to", <Identifier key="to" id={terms.payTo} name="the recipient" network={terms.network} />],
        ]}
      />
      <Select
        label="Wallet"
        value={wallet.id}
        onChange={setWalletId}
        options={WALLETS.map((each) => ({ value: each.id, label: each.name }))}
        hint={wallet.canSignEntries ? "The account that is selected in it pays; it may be another one than the plan's." : `${wallet.name} signs no authorization entries, so it cannot pay here.`}
      />
      <Actions>
        <Button onClick={pay.back} disabled={isPending}>
          Back
        </Button>
        <Button kind="primary" isPending={isPending} disabled={!wallet.canSignEntries} onClick={() => pay.pay(terms, wallet, token)}>
          {isPending ? `Open ${wallet.name}` : "Prepare the payment"}
        </Button>
      </Actions>
    </div>
  );
}

function Review({ flow, pay }: { flow: Extract<RunsFlow, { step: "review" | "signing" }>; pay: RunsPurchase }) {
  const { review } = flow;
  const wallet: Wallet = WALLETS.find((each) => each.name === review.walletName) ?? chosenWallet();
  const isSigning = flow.step === "signing";
  return (
    <div className="stack">
      {flow.step === "review" && flow.problem !== null && (
        <Problem error={flow.problem} isSmall>
          {!(flow.problem instanceof PurchaseProblem) && <p>Nothing was paid.</p>}
        </Problem>
      )}
      <h3>You will sign with {review.walletName}</h3>
      <ul className={styles["sheet"]}>
        {review.statements.map((each) => (
          <li key={each} className="foreign">{each}</li>
        ))}
      </ul>
      <p className="soft">These sentences were read from the bytes that the wallet gets, and compared with the price.</p>
      <Actions>
        <Button onClick={pay.back} disabled={isSigning}>
          Do not pay
        </Button>
        <Button kind="primary" isPending={isSigning} onClick={() => pay.sign(wallet)}>
          {isSigning ? `Confirm in ${review.walletName}` : "Sign and pay"}
        </Button>
      </Actions>
    </div>
  );
}

const OVER = "The last ledger of its signature has passed, so nothing new can be taken with it. Look at the plan and at your account.";

function Waiting({ flow, pay }: { flow: Extract<RunsFlow, { step: "paying" | "waiting" }>; pay: RunsPurchase }) {
  const { payment } = flow;
  const last = flow.step === "waiting" ? flow.last : null;
  return (
    <div className="stack" role="status">
      <p>
        <strong>{payment.paymentSignature === null ? "Signed, and not sent yet." : "The payment is on its way."}</strong> This
        page asks with the same signature until the outcome is known; it is never charged twice. You may close it: your next
        visit in this browser goes on.
      </p>
      {last !== null && (last.problem === null ? <p className="foreign">{last.message}</p> : <Problem error={last.problem} isSmall />)}
      {payment.isOver ? <p>{OVER}</p> : <p>Do not pay again yet: a second signature may pay twice while the first one is valid.</p>}
      <p className="soft">
        The last ledger of the signature is <span className="numbers">{payment.expirationLedger}</span>, at about{" "}
        <Time at={payment.expiresAt} format="short" />.
      </p>
      <Actions>
        {flow.step === "waiting" && payment.isOver && <Button onClick={pay.forget}>I have looked: forget it</Button>}
        <Button isPending={flow.step === "paying"} onClick={pay.sendAgain}>
          Ask now
        </Button>
      </Actions>
    </div>
  );
}

/** Pays for runs with the wallet, in steps that each show what happens next. */
export function PayForRuns(props: PayForRunsProps) {
  const pay = usePayRuns(props.plan.id, props.onPaid);
  const { flow } = pay;
  if (pay.isPending) return <Loading name="your payments" />;
  switch (flow.step) {
    case "form":
    case "asking":
    case "ended":
      return <Order {...props} pay={pay} flow={flow} />;
    case "offered":
    case "preparing":
      return <Offer plan={props.plan} flow={flow} pay={pay} />;
    case "review":
    case "signing":
      return <Review flow={flow} pay={pay} />;
    case "paying":
    case "waiting":
      return <Waiting flow={flow} pay={pay} />;
  }
}
