import { useState } from "react";
import { useNetwork, useServedNetworks } from "@/api/networks";
import { PageLink, useAddress, useChangeAddress } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Button, buttonClasses } from "@/ui/Button";
import { LoadMore } from "@/ui/LoadMore";
import { Note } from "@/ui/Note";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { Tabs } from "@/ui/Tabs";
import { ExportDialog } from "./ExportDialog";
import type { PaymentFilters, Role } from "./paymentFilters";
import { isNarrowed, readFilters, ROLES } from "./paymentFilters";
import { NO_FILTERS, PaymentFilterRow } from "./PaymentFilterRow";
import { PaymentTable } from "./PaymentTable";
import { usePayments } from "./usePayments";

const SENTENCES: Record<Role, string> = {
  received: "Payments to your wallet, through the gateway or through a program of your own.",
  paid: "Payments that your wallet signed.",
  settled: "Payments that your wrappers or your keys had settled, to whatever wallet.",
};

function NoPayments({ filters }: { filters: PaymentFilters }) {
  const change = useChangeAddress();
  if (isNarrowed(filters)) {
    return (
      <Empty
        title="No payment matches"
        action={<Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}
      >
        Payments of other states or days may be there.
      </Empty>
    );
  }
  if (filters.role === "paid") {
    return (
      <Empty
        title="You have paid nothing yet"
        action={
          <PageLink to="/discover" className={buttonClasses("primary")}>
            Discover APIs
          </PageLink>
        }
      >
        Find an API, look at its price, and buy one call.
      </Empty>
    );
  }
  return (
    <Empty
      title="No payments yet"
      action={
        <PageLink to="/sell" className={buttonClasses("primary")}>
          Sell an API
        </PageLink>
      }
    >
      Put a price on an API. Its buyers&rsquo; payments are listed here, pending ones too.
    </Empty>
  );
}

function PaymentList({ filters }: { filters: PaymentFilters }) {
  const list = usePayments(filters);
  return (
    <div className="stack">
      <p className="soft">{SENTENCES[filters.role]}</p>
      <PaymentFilterRow filters={filters} />
      {filters.wrapper !== null && (
        <Note>
          Only payments through the wrapper{" "}
          <PageLink to={`/sell/${encodeURIComponent(filters.wrapper)}`}>
            <code>{filters.wrapper}</code>
          </PageLink>
          .
        </Note>
      )}
      <Answer
        query={list}
        name="the payments"
        isEmpty={(data) => data.length === 0}
        empty={<NoPayments filters={filters} />}
      >
        {(data) => (
          <div className="stack">
            <PaymentTable payments={data} role={filters.role} />
            <LoadMore list={list} count={data.length} name="payments" />
          </div>
        )}
      </Answer>
    </div>
  );
}

/** Everything that the wallet received or paid, with its state and what to do. */
export function PaymentsPage() {
  const [isExporting, setExporting] = useState(false);
  const address = useAddress();
  const network = useNetwork();
  const served = useServedNetworks();
  const change = useChangeAddress();
  const filters = readFilters(address, served.map((each) => each.network), network);
  return (
    <Page
      title="Payments"
      description="Each payment with its state, its transaction and what to do."
      actions={<Button onClick={() => setExporting(true)}>Export as CSV</Button>}
    >
      <Tabs
        name="Your part"
        selected={filters.role}
        onSelect={(role) => change({ role: role === "received" ? undefined : role })}
        tabs={Object.entries(ROLES).map(([id, label]) => ({ id, label, content: <PaymentList filters={filters} /> }))}
      />
      {isExporting && <ExportDialog filters={filters} onClose={() => setExporting(false)} />}
    </Page>
  );
}
