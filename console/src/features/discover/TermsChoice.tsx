import { useState } from "react";
import { NETWORK_NAMES, useServedNetworks, useTokens } from "@/api/networks";
import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import { Select } from "@/ui/Field";
import { Identifier } from "@/ui/Identifier";
import { PayProblem } from "@/payment/PayProblem";
import type { Terms } from "@/payment/terms";
import { chosenWallet, WALLETS } from "@/wallet/wallets";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import { tokenOf } from "./listing";
import { ListedPrice } from "./ListedPrice";
import type { CallFlow, CallPurchase } from "./pay";

interface TermsChoiceProps {
  listing: Listing;
  flow: Extract<CallFlow, { step: "offered" | "preparing" }>;
  purchase: CallPurchase;
  /** The signed-in wallet, when there is one: paying needs no session. */
  owner: string | null;
}

/** Whether the seller now asks for something else than the listing shows. */
function isListed(listing: Listing, terms: Terms): boolean {
  return listing.accepts.some(
    ({ network, asset, amount, payTo }) =>
      network === terms.network && asset === terms.asset && amount === terms.amount && payTo === terms.payTo,
  );
}

/** The seller's terms, of which one is paid. */
export function TermsChoice({ listing, flow, purchase, owner }: TermsChoiceProps) {
  const served = useServedNetworks();
  const tokens = useTokens();
  const payable = flow.challenge.accepts.filter((each) => served.some(({ network }) => network === each.network));
  const preferred = payable.findIndex((each) => each.network === listing.network);
  const [chosen, setChosen] = useState(Math.max(preferred, 0));
  const [walletId, setWalletId] = useState(() => chosenWallet().id);
  const terms = payable[chosen] ?? payable[0];
  const wallet = WALLETS.find((each) => each.id === walletId) ?? chosenWallet();
  const isPending = flow.step === "preparing";
  if (!terms) return <NothingPayable onBack={purchase.back} />;
  const token = tokenOf(listing, terms.asset, tokens(terms.network, terms.asset));
  return (
    <div className="stack">
      {flow.step === "offered" && flow.notice !== null && <p className={`${styles["notice"]} ${styles["warn"]}`}>{flow.notice}</p>}
      {flow.step === "offered" && flow.problem !== null && <PayProblem problem={flow.problem} />}
      <p>The seller asks for {payable.length === 1 ? "this" : "one of these"}:</p>
      <div className={styles["terms"]} role="radiogroup" aria-label="Terms">
        {payable.map((each, index) => (
          <label key={`${each.network} ${each.asset} ${each.amount}`} className={styles["term"]}>
            <input
              type="radio"
              name="terms"
              checked={each === terms}
              disabled={isPending}
              onChange={() => setChosen(index)}
            />
            <span>
              <ListedPrice listing={listing} terms={each} className={styles["amount"]} />{" "}
              <span className={styles["note"]}>on {NETWORK_NAMES[each.network]}</span>
            </span>
          </label>
        ))}
      </div>
      {!isListed(listing, terms) && (
        <p className={`${styles["notice"]} ${styles["warn"]}`}>
          This is not what the listing shows. The seller has changed the price or the recipient since.
        </p>
      )}
      <div className="row">
        <span className="soft">Paid to</span>
        <Identifier id={terms.payTo} name="the recipient" network={terms.network} />
      </div>
      <Select
        label="Wallet"
        value={wallet.id}
        onChange={setWalletId}
        options={WALLETS.map((each) => ({ value: each.id, label: each.name }))}
        hint={hintOf(wallet, owner)}
      />
      <Actions>
        <Button onClick={purchase.back} disabled={isPending}>
          Back
        </Button>
        <Button
          kind="primary"
          isPending={isPending}
          disabled={!wallet.canSignEntries}
          onClick={() => purchase.pay(terms, wallet, token)}
        >
          {isPending ? `Open ${wallet.name}` : "Prepare the payment"}
        </Button>
      </Actions>
    </div>
  );
}

function hintOf(wallet: { name: string; canSignEntries: boolean }, owner: string | null): string {
  if (!wallet.canSignEntries) return `${wallet.name} signs no authorization entries, so it cannot pay here. Choose Freighter.`;
  return owner === null ? "The account that is selected in it pays. No sign-in is needed." : "The account that is selected in it pays.";
}

function NothingPayable({ onBack }: { onBack: () => void }) {
  return (
    <div className="stack">
      <p>None of the seller's terms can be paid here: this console pays the scheme “exact” on the networks that the service serves.</p>
      <Button onClick={onBack}>Back</Button>
    </div>
  );
}
