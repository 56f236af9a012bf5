import type { ReactNode } from "react";
import { useTokens } from "@/api/networks";
import { PageLink, useAddressParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { LoadMore } from "@/ui/LoadMore";
import { Money } from "@/ui/Money";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Tabs } from "@/ui/Tabs";
import type { Analytics } from "./analyticsSeries";
import { sumRevenue } from "./analyticsSeries";
import { IntegrateTab } from "./IntegrateTab";
import { Prices } from "./Prices";
import styles from "./Sell.module.css";
import { useAnalytics, useWrappers } from "./useWrappers";
import type { Wrapper } from "./wrapperDraft";
import { wrapperPath } from "./wrapperPath";

const DAYS = 30;

/** A figure of a wrapper's last 30 days; each row reads its own, and only rows near the screen do. */
function Figure({ wrapper, children }: { wrapper: Wrapper; children: (analytics: Analytics) => ReactNode }) {
  const { data, error } = useAnalytics(wrapper.id, DAYS);
  if (data) return children(data);
  return <span className="soft">{error ? "not read" : "…"}</span>;
}

function Revenue({ analytics }: { analytics: Analytics }) {
  const tokens = useTokens();
  const revenue = sumRevenue(analytics.days);
  if (revenue.length === 0) return <span className="soft">none</span>;
  return (
    <span className={styles["name"]}>
      {revenue.map((each) => (
        <Money key={`${each.network} ${each.asset}`} amount={each.amount} {...tokens(each.network, each.asset)} />
      ))}
    </span>
  );
}

const COLUMNS: readonly Column<Wrapper>[] = [
  {
    id: "name",
    label: "Wrapper",
    cell: (each) => (
      <span className={styles["name"]}>
        <PageLink to={wrapperPath(each.id)} className="foreign">
          {each.name}
        </PageLink>
        <code className="soft foreign">/gateway/{each.slug}</code>
      </span>
    ),
  },
  {
    id: "state",
    label: "State",
    cell: (each) => <Badge tone={each.enabled ? "good" : "neutral"}>{each.enabled ? "Enabled" : "Disabled"}</Badge>,
  },
  { id: "price", label: "Price", cell: (each) => <Prices terms={each.accepts} /> },
  {
    id: "calls",
    label: "Delivered",
    align: "end",
    cell: (each) => (
      <Figure wrapper={each}>{({ summary }) => <span className="numbers">{summary.successful}</span>}</Figure>
    ),
  },
  {
    id: "revenue",
    label: "Revenue",
    align: "end",
    cell: (each) => <Figure wrapper={each}>{(analytics) => <Revenue analytics={analytics} />}</Figure>,
  },
  {
    id: "owed",
    label: "Owed",
    align: "end",
    cell: (each) => (
      <Figure wrapper={each}>
        {({ owed }) =>
          owed === 0 ? (
            <span className="soft">none</span>
          ) : (
            <PageLink to={wrapperPath(each.id)} search={{ tab: "owed" }}>
              {owed}
            </PageLink>
          )
        }
      </Figure>
    ),
  },
];

function NewWrapperLink() {
  return (
    <PageLink to="/sell/new" className={buttonClasses("primary")}>
      New wrapper
    </PageLink>
  );
}

function WrappersTab() {
  const list = useWrappers();
  return (
    <Answer
      query={list}
      name="the wrappers"
      isEmpty={(data) => data.length === 0}
      empty={
        <Empty title="You sell nothing yet" action={<NewWrapperLink />}>
          Put a price on an API that you have: the gateway takes the payment, calls your API, and passes the response
          on. Your API stays as it is.
        </Empty>
      }
    >
      {(data) => (
        <div className="stack">
          <Table name="Wrappers" columns={COLUMNS} rows={data} rowKey={(each) => each.id} />
          <p className="soft">Delivered calls and revenue are those of the last {DAYS} days.</p>
          <LoadMore list={list} count={data.length} name="wrappers" />
        </div>
      )}
    </Answer>
  );
}

/** The wrappers of the wallet, and how to sell without one. */
export function SellPage() {
  const [tab, setTab] = useAddressParameter("tab", "wrappers");
  return (
    <Page
      title="Sell"
      description="Put a price on your API. Each call is paid first, straight to your wallet."
      actions={<NewWrapperLink />}
    >
      <Tabs
        name="Sell"
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: "wrappers", label: "Wrappers", content: <WrappersTab /> },
          { id: "integrate", label: "Integrate it yourself", content: <IntegrateTab /> },
        ]}
      />
    </Page>
  );
}
