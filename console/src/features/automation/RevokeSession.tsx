import { useState } from "react";
import type { Plan, PlanSession } from "@/api/automationTypes";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Note } from "@/ui/Note";
import { Card, Section } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { formatFull } from "@/ui/time";
import type { Revocation } from "@/wallet/readRevocation";
import { chosenWallet } from "@/wallet/wallets";
import { Invocations } from "./InstallByHand";
import { PermissionSheet } from "./PermissionSheet";
import { hasEnded } from "./planStates";
import { revocationOf, signRevocation } from "./signRevocation";

const GONE = ["none", "revoked", "expired", "material_issued"];

/** What the wallet would sign, or why it is not asked. */
function Revoking({ plan, session, xdr }: { plan: Plan; session: PlanSession; xdr: string }) {
  let read: Revocation;
  try {
    read = revocationOf(plan, session, xdr);
  } catch (error) {
    return <Problem error={error} isSmall />;
  }
  return (
    <div className="stack">
      <PermissionSheet sentences={[...read.statements, `It can be sent until ${formatFull(read.endsAt * 1000)}.`]} />
      <p className="soft">These sentences were read in this browser from the bytes that the wallet signs.</p>
      <SignRevocation plan={plan} session={session} xdr={xdr} />
    </div>
  );
}

/** Signs the revocation with the wallet; it is sent by any program, as its fee is the owner's. */
function SignRevocation({ plan, session, xdr }: { plan: Plan; session: PlanSession; xdr: string }) {
  const [signed, setSigned] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const wallet = chosenWallet();
  const sign = async () => {
    setPending(true);
    setProblem(null);
    try {
      setSigned(await signRevocation(plan, session, xdr, wallet));
    } catch (error) {
      setProblem(error);
    } finally {
      setPending(false);
    }
  };
  if (signed !== null) {
    return (
      <div className="stack">
        <p>Signed. Send this transaction to the network, for example with “stellar tx send”.</p>
        <CodeBlock name="the signed transaction" code={signed} isWrapped />
      </div>
    );
  }
  return (
    <div className="stack">
      {problem !== null && <Problem error={problem} isSmall />}
      <div className="row">
        <Button isPending={isPending} onClick={() => void sign()}>
          Sign the revocation with {wallet.name}
        </Button>
      </div>
    </div>
  );
}

/** What ends the session on the ledger, beside the service's own closing of it. */
export function RevokeSession({ plan, session }: { plan: Plan; session: PlanSession | null }) {
  if (session === null || session.revoke === null || GONE.includes(session.state)) return null;
  const { invocations, unsignedTransactionXdr } = session.revoke;
  return (
    <Section
      title="Revoke the session"
      description="The service closes the session itself. You can remove it from your account as well, without the service."
    >
      <Card>
        {!hasEnded(plan) && <Note tone="warn">Revoking ends the plan at its next run. To stop for a while, pause it.</Note>}
        {unsignedTransactionXdr !== null && <Revoking plan={plan} session={session} xdr={unsignedTransactionXdr} />}
        <p>The call, to make with any wallet or program:</p>
        <Invocations name="the revocation" invocations={invocations} />
      </Card>
    </Section>
  );
}
