import { useState } from "react";
import type { Plan, Quote, RunPaymentResult } from "@/api/automationTypes";
import { NETWORK_NAMES } from "@/api/networks";
import { PayProblem } from "@/payment/PayProblem";
import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Note } from "@/ui/Note";
import { Facts } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { Time } from "@/ui/Time";
import type { Wallet } from "@/wallet/wallet";
import { chosenWallet, WALLETS } from "@/wallet/wallets";
import styles from "./Automation.module.css";
import type { PayFlow } from "./payRuns";
import { usePlanTokens } from "./planTokens";
import { QuoteText } from "./QuoteText";
import type { PayRuns } from "./usePayRuns";
import { usePayRuns } from "./usePayRuns";

interface PayForRunsProps {
  plan: Plan;
  quote: Quote | null;
  isTopUp?: boolean;
  onPaid: (result: RunPaymentResult) => void;
}

/** The order: how many runs. A price of 0 is paid by the click. */
function Order({ plan, quote, isTopUp, pay, flow }: PayForRunsProps & { pay: PayRuns; flow: PayFlow }) {
  const most = plan.runLimit - plan.runsCredited;
  const [typed, setTyped] = useState(isTopUp ? String(most) : "");
  const runs = typed === "" ? null : /^\d{1,7}$/.test(typed) ? Number(typed) : 0;
  const isFine = runs === null ? !isTopUp : runs >= 1 && runs <= most;
  const isFree = quote?.isFree === true;
  return (
    <div className="stack">
      {flow.step === "idle" && flow.notice !== null && <Note tone="warn">{flow.notice}</Note>}
      {flow.step === "idle" && flow.problem !== null && <Problem error={flow.problem} isSmall />}
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

function Offer({ plan, flow, pay }: { plan: Plan; flow: Extract<PayFlow, { step: "offered" | "preparing" }>; pay: PayRuns }) {
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
        <Button kind="primary" isPending={isPending} disabled={!wallet.canSignEntries} onClick={() => pay.review(wallet, token)}>
          {isPending ? `Open ${wallet.name}` : "Prepare the payment"}
        </Button>
      </Actions>
    </div>
  );
}

function Review({ flow, pay }: { flow: Extract<PayFlow, { step: "review" | "signing" }>; pay: PayRuns }) {
  const { review } = flow;
  const wallet: Wallet = WALLETS.find((each) => each.name === review.walletName) ?? chosenWallet();
  const isSigning = flow.step === "signing";
  return (
    <div className="stack">
      {flow.step === "review" && flow.problem !== null && (
        <Problem error={flow.problem} isSmall>
          <p>Nothing was paid.</p>
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

function Waiting({ flow, pay }: { flow: Extract<PayFlow, { step: "sending" | "waiting" }>; pay: PayRuns }) {
  return (
    <div className="stack" role="status">
      <p>
        <strong>The payment is on its way.</strong> This page asks with the same signature until the outcome is known; it
        is never charged twice. A reload continues as well.
      </p>
      {flow.step === "waiting" && flow.problem !== null && <Problem error={flow.problem} isSmall />}
      <p className="soft">
        The signature ends <Time at={flow.payment.expiresAt} />.
      </p>
      <Actions>
        <Button isPending={flow.step === "sending"} onClick={pay.again}>
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
  switch (flow.step) {
    case "idle":
    case "asking":
      return <Order {...props} pay={pay} flow={flow} />;
    case "offered":
    case "preparing":
      return <Offer plan={props.plan} flow={flow} pay={pay} />;
    case "review":
    case "signing":
      return <Review flow={flow} pay={pay} />;
    case "completing":
      return (
        <div className="stack" role="status">
          <p>The wallet has signed. The service puts the signature into the payment; nothing has been sent yet.</p>
          {flow.problem !== null && <Problem error={flow.problem} isSmall />}
          {flow.problem !== null && <Button onClick={pay.finish}>Continue with the same signature</Button>}
        </div>
      );
    case "sending":
    case "waiting":
      return <Waiting flow={flow} pay={pay} />;
  }
}
