import { useMemo } from "react";
import type { ReactNode } from "react";
import { useTokens } from "@/api/networks";
import { useAddressParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { dayOf } from "@/ui/days";
import { Select } from "@/ui/Field";
import { Money } from "@/ui/Money";
import { Card, Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { Plot } from "@/ui/Plot";
import { Table } from "@/ui/Table";
import type { Analytics } from "./analyticsSeries";
import { analyticsPlots, failuresOf, OUTCOMES, sumRevenue } from "./analyticsSeries";
import { RecentRequests } from "./RecentRequests";
import styles from "./Sell.module.css";
import { useAnalytics } from "./useWrappers";
import type { Wrapper } from "./wrapperDraft";

const PERIODS = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "365 days" },
];

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles["figure"]}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Figures({ analytics }: { analytics: Analytics }) {
  const tokens = useTokens();
  const { summary, owed } = analytics;
  const revenue = sumRevenue(analytics.days);
  return (
    <dl className={styles["figures"]}>
      <Figure name="Revenue">
        {revenue.length === 0 && "none"}
        {revenue.map((each) => (
          <div key={`${each.network} ${each.asset}`}>
            <Money amount={each.amount} {...tokens(each.network, each.asset)} />
          </div>
        ))}
      </Figure>
      <Figure name="Delivered">{summary.successful}</Figure>
      <Figure name="Shown the price">{summary.outcomes["CHALLENGED"] ?? 0}</Figure>
      <Figure name="Not delivered">{failuresOf(summary)}</Figure>
      <Figure name="Median latency">{summary.p50LatencyMs === null ? "none" : `${summary.p50LatencyMs} ms`}</Figure>
      <Figure name="Owed">{owed}</Figure>
    </dl>
  );
}

function Plots({ analytics, days }: { analytics: Analytics; days: number }) {
  const tokens = useTokens();
  const today = dayOf(Date.now());
  // The decimals of the tokens alone change what is drawn.
  const known = JSON.stringify(sumRevenue(analytics.days).map((each) => tokens(each.network, each.asset)));
  const plots = useMemo(
    () => analyticsPlots(analytics.days, days, today, tokens),
    // eslint-disable-next-line react/exhaustive-deps
    [analytics.days, days, today, known],
  );
  return (
    <div className={styles["columns"]}>
      <PlotCard title="Calls" {...plots.calls} />
      {plots.revenue.map(({ token, plot }) => (
        <PlotCard
          key={`${token.network} ${token.asset}`}
          title={plots.revenue.length === 1 ? "Revenue" : `Revenue on ${token.network}`}
          {...plot}
        />
      ))}
      <PlotCard title="Latency of delivered calls" {...plots.latency} />
      <PlotCard title="Errors" {...plots.errors} />
    </div>
  );
}

function PlotCard({ title, times, series }: { title: string } & ReturnType<typeof analyticsPlots>["calls"]) {
  return (
    <Card>
      <h3>{title}</h3>
      <Plot name={`${title} by day`} times={times} series={series} />
    </Card>
  );
}

interface Count {
  name: string;
  words: string;
  count: number;
}

function Counts({ name, label, counts }: { name: string; label: string; counts: readonly Count[] }) {
  return (
    <Table
      name={name}
      rows={counts}
      rowKey={(each) => each.name}
      columns={[
        { id: "words", label, cell: (each) => <span className="foreign">{each.words}</span> },
        { id: "count", label: "Requests", align: "end", cell: (each) => <span className="numbers">{each.count}</span> },
      ]}
    />
  );
}

function Breakdown({ summary }: { summary: Analytics["summary"] }) {
  const order = Object.keys(OUTCOMES);
  const outcomes = Object.entries(summary.outcomes)
    .map(([name, count]) => ({ name, count, words: OUTCOMES[name] ?? name }))
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const errors = Object.entries(summary.errors)
    .map(([name, count]) => ({ name, count, words: name }))
    .sort((a, b) => b.count - a.count);
  return (
    <div className={styles["columns"]}>
      <Counts name="Requests by outcome" label="Outcome" counts={outcomes} />
      {errors.length > 0 && <Counts name="Requests by error code" label="Error code" counts={errors} />}
    </div>
  );
}

/** Calls, revenue, latency and errors of a wrapper, as plots and as tables. */
export function AnalyticsTab({ wrapper }: { wrapper: Wrapper }) {
  const [period, setPeriod] = useAddressParameter("days", "30");
  const days = PERIODS.some((each) => each.value === period) ? Number(period) : 30;
  const query = useAnalytics(wrapper.id, days);
  return (
    <div className={styles["sections"]}>
      <Section
        title="Analytics"
        description="Days in UTC, today included. What happened in the last second may be missing."
        actions={<Select label="Period" options={PERIODS} value={String(days)} onChange={setPeriod} />}
      >
        <Answer
          query={query}
          name="the analytics"
          isEmpty={(analytics) => analytics.summary.requests === 0 && analytics.days.length === 0}
          empty={
            <Empty title="No requests in this period">
              {wrapper.enabled ? "Share the endpoint, or buy a call yourself." : "Enable the wrapper, so that it can be bought."}
            </Empty>
          }
        >
          {(analytics) => (
            <div className="stack">
              <Figures analytics={analytics} />
              <Plots analytics={analytics} days={days} />
              <Breakdown summary={analytics.summary} />
            </div>
          )}
        </Answer>
      </Section>
      <RecentRequests wrapper={wrapper} />
    </div>
  );
}
