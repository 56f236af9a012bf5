import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { chooseNetwork, NETWORK_NAMES, useNetwork, useServedNetworks } from "@/api/networks";
import type { Owner } from "@/api/session";
import { changeOwner, closeSignIn, openSignIn, useOtherOwner, useOwner, useSignInRequest } from "@/api/session";
import type { Network } from "@/api/types";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ExternalLink } from "@/ui/ExternalLink";
import { Select } from "@/ui/Field";
import { shorten } from "@/ui/links";
import { Problem } from "@/ui/PageState";
import { announce } from "@/ui/toast";
import type { Wallet } from "@/wallet/wallet";
import { rememberWallet, WALLETS } from "@/wallet/wallets";
import type { Step } from "./signIn";
import { signIn, STEP_SENTENCES } from "./signIn";
import styles from "./SignInDialog.module.css";

/** The sign-in dialog; the shell renders it once. The page below keeps its forms. */
export function SignInDialog() {
  const request = useSignInRequest();
  return request === null ? null : <OpenDialog isExpired={request === "expired"} />;
}

function useSignedIn() {
  const client = useQueryClient();
  return (owner: Owner) => {
    changeOwner(client, owner);
    chooseNetwork(owner.network);
    announce(`Signed in as ${shorten(owner.address)} on ${NETWORK_NAMES[owner.network]}.`, "good");
  };
}

function OpenDialog({ isExpired }: { isExpired: boolean }) {
  const owner = useOwner();
  const other = useOtherOwner();
  const current = useNetwork();
  const served = useServedNetworks();
  const [network, setNetwork] = useState<Network>(current);
  const [step, setStep] = useState<{ wallet: Wallet; step: Step; statements: string[] } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const underWay = useRef(false);
  const done = useSignedIn();

  const start = async (wallet: Wallet) => {
    if (underWay.current) return;
    underWay.current = true;
    setProblem(null);
    try {
      const signedIn = await signIn(wallet, network, {
        owner: isExpired ? owner : null,
        onStep: (each, statements) => setStep({ wallet, step: each, statements }),
      });
      rememberWallet(wallet);
      done(signedIn);
    } catch (error) {
      setProblem(error);
      setStep(null);
    } finally {
      underWay.current = false;
    }
  };

  return (
    <Dialog title={titleFor(isExpired, other)} onClose={closeSignIn}>
      <p>
        {isExpired
          ? "Sign in again to go on. This page and what you typed stay as they are; send it again afterwards."
          : "Your wallet signs a challenge. It costs nothing, and your key stays in the wallet."}
      </p>
      {served.length > 1 && !isExpired && (
        <Select
          label="Network"
          value={network}
          onChange={(value) => setNetwork(value as Network)}
          options={served.map((each) => ({ value: each.network, label: NETWORK_NAMES[each.network] }))}
          hint="Each network has an account of its own: Testnet holds no money."
        />
      )}
      {isExpired && other !== null && (
        <p>
          Another tab has signed in as <code>{shorten(other.address)}</code> on {NETWORK_NAMES[other.network]}: nothing of this
          page was sent for it.
        </p>
      )}
      {isExpired && owner !== null && (
        <p className="soft">
          You were signed in as <code>{shorten(owner.address)}</code> on {NETWORK_NAMES[owner.network]}. With another
          account this page would be another one.
        </p>
      )}
      <WalletList isBusy={step !== null} onChoose={(wallet) => void start(wallet)} />
      {step !== null && (
        <p className={styles["step"]} role="status">
          {STEP_SENTENCES[step.step](step.wallet.name)}
        </p>
      )}
      {step !== null && step.statements.length > 0 && (
        <ul>
          {step.statements.map((each) => (
            <li key={each} className="foreign">
              {each}
            </li>
          ))}
        </ul>
      )}
      {problem !== null && <Problem error={problem} isSmall />}
      {isExpired && <Leave isBusy={step !== null} other={other} />}
    </Dialog>
  );
}

function titleFor(isExpired: boolean, other: Owner | null): string {
  if (!isExpired) return "Sign in";
  return other === null ? "Your session has ended" : "Sign in again";
}

/** The ways on that give up the page and what was typed into it. */
function Leave({ isBusy, other }: { isBusy: boolean; other: Owner | null }) {
  const client = useQueryClient();
  return (
    <div className="row">
      <Button kind="quiet" size="small" disabled={isBusy} onClick={openSignIn}>
        Use another account
      </Button>
      <Button kind="quiet" size="small" disabled={isBusy} onClick={() => changeOwner(client, other)}>
        {other === null ? "Leave signed out" : `Show ${shorten(other.address)} here`}
      </Button>
    </div>
  );
}

function WalletList({ isBusy, onChoose }: { isBusy: boolean; onChoose: (wallet: Wallet) => void }) {
  return (
    <ul className={styles["wallets"]}>
      {WALLETS.map((wallet) => (
        <li key={wallet.id}>
          <Button className={styles["wallet"]} disabled={isBusy} onClick={() => onChoose(wallet)}>
            <span className={styles["name"]}>
              {wallet.name}
              <span className={styles["note"]}>
                {wallet.canSignEntries
                  ? "Signs in and pays."
                  : "Signs in only: it signs no authorization entries, so it cannot pay here."}
              </span>
            </span>
          </Button>
        </li>
      ))}
      <li className="soft">
        No wallet yet? Get <ExternalLink href="https://www.freighter.app">Freighter</ExternalLink>.
      </li>
    </ul>
  );
}
