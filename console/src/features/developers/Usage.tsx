import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { useNetwork } from "@/api/networks";
import type { Schema } from "@/api/types";
import { useAddressParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Select } from "@/ui/Field";
import { Money } from "@/ui/Money";
import { Card, Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { Plot } from "@/ui/Plot";
import { Table } from "@/ui/Table";
import { usageSeries } from "./usageSeries";

type Report = Schema<"UsageResponse">;

const PERIODS = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
];

const dayBefore = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

function UsagePlot({ report, network }: { report: Report; network: string }) {
  const { times, series } = useMemo(
    () => usageSeries(report.items, network, report.from, report.to),
    [report, network],
  );
  return (
    <Card>
      <Plot name="Verifications and settlements by day" times={times} series={series} />
    </Card>
  );
}

function UsageTable({ report, network }: { report: Report; network: string }) {
  return (
    <Table
      name="Usage by day"
      rows={report.items.filter((each) => each.network === network)}
      rowKey={(day) => day.date}
      columns={[
        { id: "date", label: "Day (UTC)", cell: (day) => <span className="numbers">{day.date}</span> },
        { id: "verified", label: "Verified", align: "end", cell: (day) => day.verifications.accepted },
        { id: "unverified", label: "Refused by verify", align: "end", cell: (day) => day.verifications.refused },
        { id: "settled", label: "Settled", align: "end", cell: (day) => day.settlements.accepted },
        { id: "pending", label: "Pending", align: "end", cell: (day) => day.settlements.pending },
        { id: "failed", label: "Failed", align: "end", cell: (day) => day.settlements.failed },
        { id: "refused", label: "Refused by settle", align: "end", cell: (day) => day.settlements.refused },
        {
          id: "fees",
          label: "Fees paid for you",
          align: "end",
          cell: (day) => <Money amount={day.feesSponsored} decimals={7} code="XLM" />,
        },
      ]}
    />
  );
}

/** What the wallet's programs asked of the facilitator, by day. */
export function Usage() {
  const network = useNetwork();
  const [days, setDays] = useAddressParameter("days", "30");
  const from = dayBefore(Number(days) - 1);
  const query = useQuery({
    queryKey: [...keys.usage, from],
    queryFn: ({ signal }) => call("GET /v1/usage", { query: { from } }, { signal }),
  });
  return (
    <Section
      title="Usage"
      description="Requests to /verify and /settle by all keys and sessions of your wallet."
      actions={<Select isInline label="Period" options={PERIODS} value={days} onChange={setDays} />}
    >
      <Answer
        query={query}
        name="the usage"
        isEmpty={(report) => !report.items.some((each) => each.network === network)}
        empty={
          <Empty title="No usage in this period">
            Verify or settle a payment with a key that has the scope facilitator, and it is counted here.
          </Empty>
        }
      >
        {(report) => (
          <div className="stack">
            <UsagePlot report={report} network={network} />
            <UsageTable report={report} network={network} />
          </div>
        )}
      </Answer>
    </Section>
  );
}
