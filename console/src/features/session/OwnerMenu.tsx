import { ApiError } from "@/api/errors";
import { NETWORK_NAMES } from "@/api/networks";
import { openSignIn, useOwnerQuery } from "@/api/session";
import { useSignOut } from "@/api/signOut";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { shorten } from "@/ui/links";
import { Menu } from "@/ui/Menu";
import { announce } from "@/ui/toast";
import styles from "./OwnerMenu.module.css";

const whyNot = (error: unknown): string =>
  error instanceof ApiError && error.code === "account_mismatch"
    ? "Another account is signed in by now: choose at the top of the page."
    : "Signing out failed: the service did not answer. Try again.";

/** Who is signed in, with the way out; or the way in. */
export function OwnerMenu() {
  const { data: owner } = useOwnerQuery();
  const signOut = useSignOut();
  const leave = () =>
    signOut(false).then(() => announce("Signed out.", "good")).catch((error: unknown) => announce(whyNot(error), "bad"));
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
