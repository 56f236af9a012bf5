import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Owner } from "@/api/session";
import { openSignIn, useOwnerQuery } from "@/api/session";
import { PageLink } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Button, buttonClasses } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Loading, Problem } from "@/ui/PageState";
import { firstDay, newest, PERIOD_DAYS } from "./figures";
import { FirstSteps } from "./FirstSteps";
import { Latency } from "./Latency";
import { NetworkHealth } from "./NetworkHealth";
import { paymentsQuery, wrappersQuery } from "./reads";
import { RecentPayments } from "./RecentPayments";
import { Totals } from "./Totals";

/** The first page: money and health at a glance, and the way in for a new account. */
export function OverviewPage() {
  const owner = useOwnerQuery();
  if (owner.isPending) {
    return (
      <Page title="Overview">
        <Loading />
      </Page>
    );
  }
  if (owner.data === undefined) {
    return (
      <Page title="Overview">
        <Problem error={owner.error} onRetry={() => void owner.refetch()} />
        <NetworkHealth />
      </Page>
    );
  }
  return owner.data ? <OwnOverview owner={owner.data} /> : <Welcome />;
}

function Welcome() {
  return (
    <Page
      title="Overview"
      description="Sell an API by the call, buy one without an account, and watch the money. Payments are x402 on Stellar; your key stays in your wallet."
      actions={
        <>
          <PageLink to="/discover" className={buttonClasses()}>
            Look at the catalog
          </PageLink>
          <Button kind="primary" onClick={openSignIn}>
            Sign in
          </Button>
        </>
      }
    >
      <FirstSteps owner={null} wrappers={0} payments={0} />
      <NetworkHealth />
    </Page>
  );
}

function OwnOverview({ owner }: { owner: Owner }) {
  const [since] = useState(() => firstDay(Date.now()));
  const received = useQuery(paymentsQuery("received", owner.network, since));
  const paid = useQuery(paymentsQuery("paid", owner.network, since));
  const wrappers = useQuery(wrappersQuery);
  const both = {
    data: received.data && paid.data ? { received: received.data, paid: paid.data } : undefined,
    error: received.error ?? paid.error,
    refetch: () => Promise.all([received.refetch(), paid.refetch()]),
  };
  const count = wrappers.data?.items.length;
  return (
    <Page title="Overview" description={`What your wallet received and spent in ${PERIOD_DAYS} days.`}>
      <Answer query={both} name="the payments">
        {(payments) => (
          <>
            {count !== undefined && (
              <FirstSteps
                owner={owner}
                wrappers={count}
                payments={payments.paid.items.length + payments.received.items.length}
              />
            )}
            <Totals payments={payments} network={owner.network} since={since} />
            {wrappers.error && <Problem error={wrappers.error} isSmall onRetry={() => void wrappers.refetch()} />}
            <Latency wrappers={wrappers.data?.items ?? []} since={since} />
            <RecentPayments
              payments={newest(payments.received.items, payments.paid.items, 8)}
              address={owner.address}
              network={owner.network}
            />
          </>
        )}
      </Answer>
      <NetworkHealth />
    </Page>
  );
}
