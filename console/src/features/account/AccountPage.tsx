import { useState } from "react";
import { NETWORK_NAMES } from "@/api/networks";
import { useOwner } from "@/api/session";
import { useSignOut } from "@/api/signOut";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Identifier } from "@/ui/Identifier";
import { Card, Facts, Page, Section } from "@/ui/Page";
import { announce } from "@/ui/toast";
import { Time } from "@/ui/Time";
import { AuditLog } from "./AuditLog";

/** The wallet that is signed in, its sessions and its audit log. */
export function AccountPage() {
  return (
    <Page title="Account" description="The wallet that you are signed in with. Each network and address is one account.">
      <Sessions />
      <AuditLog />
    </Page>
  );
}

function Sessions() {
  const owner = useOwner();
  const signOut = useSignOut();
  const [asked, setAsked] = useState<"here" | "everywhere" | null>(null);
  if (!owner) return null;
  const done = () => announce(asked === "everywhere" ? "Signed out everywhere." : "Signed out.", "good");
  return (
    <Section title="Session" description="A session lives 24 hours. API keys outlive it: revoke them by themselves.">
      <Card>
        <Facts
          items={[
            ["Address", <Identifier key="address" id={owner.address} name="the address" network={owner.network} />],
            ["Network", NETWORK_NAMES[owner.network]],
            ["User id", <Identifier key="id" id={owner.id} name="the user id" />],
            ["This session ends", <Time key="ends" at={owner.expiresAt} otherwise="unknown" />],
          ]}
        />
        <div className="row">
          <Button onClick={() => setAsked("here")}>Sign out</Button>
          <Button onClick={() => setAsked("everywhere")}>Sign out everywhere</Button>
        </div>
      </Card>
      {asked !== null && (
        <Confirm
          title={asked === "everywhere" ? "Sign out everywhere?" : "Sign out?"}
          verb={asked === "everywhere" ? "Sign out everywhere" : "Sign out"}
          isDangerous={asked === "everywhere"}
          act={() => signOut(asked === "everywhere")}
          onDone={done}
          onClose={() => setAsked(null)}
        >
          <p>
            {asked === "everywhere"
              ? "Every session of this wallet ends, in all browsers and programs. API keys go on working."
              : "The session in this browser ends. You can sign in again with your wallet."}
          </p>
        </Confirm>
      )}
    </Section>
  );
}
