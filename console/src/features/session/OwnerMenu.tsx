import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { ApiError } from "@/api/errors";
import { keys } from "@/api/keys";
import { NETWORK_NAMES } from "@/api/networks";
import { openSignIn, useOwnerQuery } from "@/api/session";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { shorten } from "@/ui/links";
import { Menu } from "@/ui/Menu";
import { announce } from "@/ui/toast";
import styles from "./OwnerMenu.module.css";

/** Ends the session and forgets everything that was read with it. */
export function useSignOut(): (everywhere: boolean) => Promise<void> {
  const client = useQueryClient();
  return async (everywhere) => {
    try {
      await call("POST /v1/auth/logout", { body: { everywhere } });
    } catch (error) {
      // An expired session is signed out already.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
    }
    client.clear();
    client.setQueryData(keys.owner, null);
    announce(everywhere ? "Signed out everywhere." : "Signed out.", "good");
  };
}

/** Who is signed in, with the way out; or the way in. */
export function OwnerMenu() {
  const { data: owner } = useOwnerQuery();
  const signOut = useSignOut();
  const leave = () =>
    signOut(false).catch(() => announce("Signing out failed: the service did not answer. Try again.", "bad"));
  if (!owner) {
    return (
      <Button kind="primary" onClick={openSignIn}>
        Sign in
      </Button>
    );
  }
  return (
    <Menu
      name="Your account"
      trigger={
        <Button className={styles["owner"]}>
          <code>{shorten(owner.address, 4)}</code>
          <Badge tone={owner.network === "stellar:pubnet" ? "accent" : "neutral"}>
            {NETWORK_NAMES[owner.network]}
          </Badge>
        </Button>
      }
      items={[
        { label: "Use another wallet or network", onSelect: openSignIn },
        { label: "Sign out", onSelect: () => void leave() },
      ]}
    />
  );
}
