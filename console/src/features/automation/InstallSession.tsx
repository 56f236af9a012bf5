import { useEffect, useRef, useState } from "react";
import type { Plan, PlanDetail } from "@/api/automationTypes";
import { activatePlan } from "@/api/automations";
import { ApiError } from "@/api/errors";
import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import { Select } from "@/ui/Field";
import { Note } from "@/ui/Note";
import { Facts } from "@/ui/Page";
import { Loading, Problem } from "@/ui/PageState";
import { chosenWallet, WALLETS } from "@/wallet/wallets";
import styles from "./Automation.module.css";
import { InstallByHand } from "./InstallByHand";
import type { Material } from "./installSession";
import { isRefusal, readMaterial, signMaterial, signVerb, sinceSigned } from "./installSession";
import { PermissionSheet } from "./PermissionSheet";
import { MODES } from "./planStates";

type Step =
  | { step: "reading" }
  | { step: "ready"; material: Material; signed: string[]; problem: unknown }
  | { step: "signing"; material: Material; signed: string[] }
  | { step: "sending"; material: Material; signed: string[] }
  | { step: "failed"; problem: unknown };

interface InstallSessionProps {
  plan: Plan;
  onActivated: (detail: PlanDetail) => void;
}

function useInstallation({ plan, onActivated }: InstallSessionProps) {
  const [state, setState] = useState<Step>({ step: "reading" });
  const isBusy = useRef(false);
  const read = async () => {
    setState({ step: "reading" });
    try {
      setState({ step: "ready", material: await readMaterial(plan), signed: [], problem: null });
    } catch (problem) {
      setState({ step: "failed", problem });
    }
  };
  const first = useRef(read);
  useEffect(() => void first.current(), []);
  const send = async (material: Material, signed: string[]) => {
    setState({ step: "sending", material, signed });
    const body = plan.authorityMode === "presigned" ? { presignedEntriesXdr: signed } : { signedEntriesXdr: signed };
    onActivated(await activatePlan(plan.id, plan.authorityMode === "open" ? {} : body));
  };
  const start = async (walletId: string) => {
    if (isBusy.current || state.step !== "ready") return;
    isBusy.current = true;
    const { material } = state;
    const wallet = WALLETS.find((each) => each.id === walletId) ?? chosenWallet();
    let signed = state.signed;
    try {
      setState({ step: "signing", material, signed });
      signed = await signMaterial(material, wallet, signed, (now) => {
        signed = now;
        setState({ step: "signing", material, signed: now });
      });
      await send(material, signed);
    } catch (problem) {
      // What the service refused is not sent a second time; what the wallet declined goes on.
      setState({ step: "ready", material, signed: problem instanceof ApiError ? [] : signed, problem });
    } finally {
      isBusy.current = false;
    }
  };
  return { state, start: (walletId: string) => void start(walletId), read: () => void read() };
}

/** What is signed, read from its own bytes. */
function Sheet({ plan, material }: { plan: Plan; material: Material }) {
  const [first] = material.entries;
  if (plan.authorityMode === "open") return <p>{MODES.open.what}</p>;
  if (!first) return <Note tone="warn">The service has nothing to sign for this plan. Read it again in a minute.</Note>;
  const { reading } = first;
  return (
    <div className="stack">
      <PermissionSheet sentences={reading.permissions} />
      {reading.kind !== "run" && (
        <Facts
          items={[
            ["Policy", <code key="name">{reading.policyName}</code>],
            ["Policy id", <code key="id" className="foreign">{reading.policyId}</code>],
            ["Last ledger", <span key="ledger" className="numbers">{reading.validUntilLedger}</span>],
          ]}
        />
      )}
      <p className="soft">
        {reading.kind === "run"
          ? "These sentences were read in this browser from the bytes of the first run that the wallet signs."
          : "These sentences and the policy id were made in this browser from the bytes that the wallet signs; the id is the one of this page."}
      </p>
      {material.entries.length > 1 && (
        <details className={styles["fold"]}>
          <summary>All {material.entries.length} signatures</summary>
          <ol className="stack">
            {material.entries.map(({ entry, reading: each }) => (
              <li key={entry.nonce}>
                <strong>
                  Run {(entry.runIndex ?? 0) + 1}
                  {entry.legIndex ? `, payment ${entry.legIndex + 1}` : ""}
                </strong>
                <PermissionSheet sentences={each.permissions} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

/** Reads what the wallet will sign, has it signed, and activates the plan. */
export function InstallSession({ plan, onActivated }: InstallSessionProps) {
  const { state, start, read } = useInstallation({ plan, onActivated });
  const [walletId, setWalletId] = useState(() => chosenWallet().id);
  if (state.step === "reading") return <Loading name="what the wallet will sign" />;
  if (state.step === "failed") return <Problem error={state.problem} onRetry={isRefusal(state.problem) ? undefined : read} />;
  const { material, signed } = state;
  const count = material.entries.length;
  const isOpen = plan.authorityMode === "open";
  const isPending = state.step !== "ready";
  const verb = isOpen ? "Activate the plan" : signVerb(count, signed.length);
  const wallet = WALLETS.find((each) => each.id === walletId) ?? chosenWallet();
  return (
    <div className="stack">
      {state.step === "ready" && state.problem !== null && (
        <Problem error={sinceSigned(state.problem, signed.length)} isSmall>
          <Button size="small" onClick={read}>
            Read it again
          </Button>
        </Problem>
      )}
      {!isOpen && <p>{MODES[plan.authorityMode].what}</p>}
      <Sheet plan={plan} material={material} />
      {material.session.warnings.map((each) => (
        <Note key={each} tone="warn">
          <span className="foreign">{each}</span>
        </Note>
      ))}
      {!isOpen && count > 0 && (
        <Select
          label="Wallet"
          value={walletId}
          onChange={setWalletId}
          options={WALLETS.map((each) => ({ value: each.id, label: each.name }))}
          hint={wallet.canSignEntries ? "The plan's account has to be selected in it." : `${wallet.name} signs no authorization entries. Choose Freighter, or install it by hand.`}
        />
      )}
      {count > 1 && (isPending || signed.length > 0) && (
        <div role="status">
          <progress className={styles["progress"]} max={count} value={signed.length} aria-label="Signatures" />
          <p className="soft numbers">
            {signed.length} of {count} signed.
          </p>
        </div>
      )}
      <Actions>
        <Button
          kind="primary"
          isPending={isPending}
          disabled={!isOpen && (count === 0 || !wallet.canSignEntries)}
          onClick={() => start(walletId)}
        >
          {state.step === "signing" && !isOpen ? `Confirm in ${wallet.name}` : state.step === "sending" ? "Activating" : verb}
        </Button>
      </Actions>
      {!isOpen && plan.authorityMode !== "presigned" && (
        <InstallByHand plan={plan} install={material.session.install} onActivated={onActivated} />
      )}
    </div>
  );
}
