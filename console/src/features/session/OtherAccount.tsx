import { useQueryClient } from "@tanstack/react-query";
import { NETWORK_NAMES } from "@/api/networks";
import { changeOwner, openRenewal, useOtherOwner, useOwner } from "@/api/session";
import { Button } from "@/ui/Button";
import { shorten } from "@/ui/links";
import { Note } from "@/ui/Note";

/** Says that another tab has signed in with another account, and asks which one this page is for. */
export function OtherAccount() {
  const client = useQueryClient();
  const owner = useOwner();
  const other = useOtherOwner();
  if (owner === null || other === null) return null;
  const [shown, signedIn] = [shorten(owner.address), shorten(other.address)];
  return (
    <Note tone="warn">
      <div className="stack" role="alert">
        <p>
          Another tab has signed in as <code>{signedIn}</code> on {NETWORK_NAMES[other.network]}. This page is that of{" "}
          <code>{shown}</code> on {NETWORK_NAMES[owner.network]}: the service refuses its requests meanwhile, and what you typed stays.
        </p>
        <div className="row">
          <Button onClick={openRenewal}>Sign in again as {shown}</Button>
          <Button kind="quiet" onClick={() => changeOwner(client, other)}>
            Show {signedIn} here
          </Button>
        </div>
      </div>
    </Note>
  );
}
