import type { ReactNode } from "react";
import { openSignIn, useOwnerQuery } from "@/api/session";
import { Button } from "@/ui/Button";
import { Empty, Loading, Problem } from "@/ui/PageState";

/** A page for a signed-in wallet: anybody else is asked to sign in and lands on it then. */
export function NeedsOwner({ title, children }: { title: string; children: ReactNode }) {
  const query = useOwnerQuery();
  if (query.data) return children;
  return (
    <div className="stack">
      <h1>{title}</h1>
      <Asking query={query} />
    </div>
  );
}

function Asking({ query }: { query: ReturnType<typeof useOwnerQuery> }) {
  if (query.isPending) return <Loading />;
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Empty
      title="Sign in to see this page"
      action={
        <Button kind="primary" onClick={openSignIn}>
          Sign in
        </Button>
      }
    >
      Your wallet signs a challenge. It costs nothing, and your key stays in the wallet.
    </Empty>
  );
}
