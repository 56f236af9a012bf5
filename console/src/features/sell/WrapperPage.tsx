import { PageLink, useAddressParameter, usePathParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Copy } from "@/ui/Copy";
import { Identifier } from "@/ui/Identifier";
import { Note } from "@/ui/Note";
import { Card, Facts, Page, Section } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { Time } from "@/ui/Time";
import { AnalyticsTab } from "./AnalyticsTab";
import { CheckSection } from "./CheckSection";
import { ListingPreviews } from "./ListingPreviews";
import { OwedTab } from "./OwedTab";
import { Prices } from "./Prices";
import styles from "./Sell.module.css";
import { SettingsTab } from "./SettingsTab";
import { useAnalytics, useWrapper } from "./useWrappers";
import { WrapperActions } from "./WrapperActions";
import type { Wrapper } from "./wrapperDraft";
import { wrapperPath } from "./wrapperPath";

const AUTH_NAMES: Record<Wrapper["authType"], string> = {
  none: "none",
  bearer: "a bearer token of the vault",
  header: "a header with a secret of the vault",
};

function Summary({ wrapper }: { wrapper: Wrapper }) {
  const recipients = [...new Map(wrapper.accepts.map((term) => [term.payTo, term])).values()];
  return (
    <Section title="Wrapper">
      <Card>
        <Facts
          items={[
            [
              "Endpoint",
              <span key="endpoint" className="row">
                <code className="foreign">{wrapper.endpoint}</code>
                <Copy text={wrapper.endpoint} name="the endpoint" />
              </span>,
            ],
            ["Price of a call", <Prices key="price" terms={wrapper.accepts} />],
            [
              "Recipient",
              <span key="recipient" className="row">
                {recipients.map((term) => (
                  <Identifier key={term.payTo} id={term.payTo} name="the recipient" network={term.network} />
                ))}
              </span>,
            ],
            [
              "Your API",
              <code key="api" className="foreign">
                {wrapper.upstreamUrl}
              </code>,
            ],
            ["Credential", AUTH_NAMES[wrapper.authType]],
            ["Changed", <Time key="changed" at={wrapper.updatedAt} />],
          ]}
        />
      </Card>
    </Section>
  );
}

function OverviewTab({ wrapper }: { wrapper: Wrapper }) {
  return (
    <div className={styles["sections"]}>
      {!wrapper.enabled && (
        <Note>
          <strong>Nobody can buy it yet.</strong> Run the check, look at the listing below, then enable the wrapper.
        </Note>
      )}
      <Summary wrapper={wrapper} />
      <CheckSection wrapper={wrapper} />
      <ListingPreviews wrapper={wrapper} />
    </div>
  );
}

function Owing({ wrapper }: { wrapper: Wrapper }) {
  const { data } = useAnalytics(wrapper.id, 30);
  if (!data || data.owed === 0) return null;
  return (
    <Note tone="warn">
      {data.owed === 1 ? "One call was paid and not delivered." : `${data.owed} calls were paid and not delivered.`}{" "}
      <PageLink to={wrapperPath(wrapper.id)} search={{ tab: "owed" }}>
        Pay the buyers back
      </PageLink>
    </Note>
  );
}

function Shown({ wrapper }: { wrapper: Wrapper }) {
  const [tab, setTab] = useAddressParameter("tab", "overview");
  return (
    <>
      {tab !== "owed" && <Owing wrapper={wrapper} />}
      <Tabs
        name={wrapper.name}
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: "overview", label: "Overview", content: <OverviewTab wrapper={wrapper} /> },
          { id: "analytics", label: "Analytics", content: <AnalyticsTab wrapper={wrapper} /> },
          { id: "owed", label: "Owed calls", content: <OwedTab wrapper={wrapper} /> },
          { id: "settings", label: "Settings", content: <SettingsTab wrapper={wrapper} /> },
        ]}
      />
    </>
  );
}

/** One wrapper: what a buyer sees, analytics, owed calls, settings. */
export function WrapperPage() {
  const query = useWrapper(usePathParameter("id"));
  const wrapper = query.data;
  return (
    <Page
      title={wrapper?.name ?? "Wrapper"}
      description={
        <span className="row">
          {wrapper !== undefined && (
            <Badge tone={wrapper.enabled ? "good" : "neutral"}>{wrapper.enabled ? "Enabled" : "Disabled"}</Badge>
          )}
          <PageLink to="/sell">All wrappers</PageLink>
        </span>
      }
      actions={wrapper && <WrapperActions wrapper={wrapper} />}
    >
      <Answer query={query} name="the wrapper">
        {(data) => <Shown wrapper={data} />}
      </Answer>
    </Page>
  );
}
