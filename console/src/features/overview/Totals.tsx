import { useMemo } from "react";
import { useServedNetworks, useTokens } from "@/api/networks";
import type { Network } from "@/api/types";
import { Money } from "@/ui/Money";
import { formatUnits } from "@/ui/money";
import { Card, Grid, Section } from "@/ui/Page";
import { Plot } from "@/ui/Plot";
import { daysOf, PERIOD_DAYS, sumByAsset, sumByDay } from "./figures";
import type { AssetSum } from "./figures";
import styles from "./Overview.module.css";
import type { Payments } from "./reads";

interface TotalsProps {
  payments: { received: Payments; paid: Payments };
  network: Network;
  since: string;
}

/** What was received and spent, in figures and by day. */
export function Totals({ payments, network, since }: TotalsProps) {
  const { received, paid } = payments;
  const usdc = useServedNetworks().find((each) => each.network === network)?.usdc.contract;
  const sums = { received: sumByAsset(received.items), paid: sumByAsset(paid.items) };
  const asset = usdc ?? sums.received[0]?.asset ?? sums.paid[0]?.asset;
  return (
    <Section title="Received and spent" description={isPartialSentence(received, paid)}>
      <Grid>
        <Total label="Received" sums={sums.received} network={network} asset={asset} />
        <Total label="Spent" sums={sums.paid} network={network} asset={asset} />
      </Grid>
      {asset !== undefined && received.items.length + paid.items.length > 0 && (
        <MoneyPlot payments={payments} network={network} since={since} asset={asset} />
      )}
    </Section>
  );
}

function isPartialSentence(received: Payments, paid: Payments): string {
  const days = `The last ${PERIOD_DAYS} days, without failed and refunded payments.`;
  return received.isPartial || paid.isPartial ? `${days} Only the newest 1,000 of each are added up.` : days;
}

interface TotalProps {
  label: string;
  sums: readonly AssetSum[];
  network: Network;
  asset: string | undefined;
}

function Total({ label, sums, network, asset }: TotalProps) {
  const tokens = useTokens();
  const main = sums.find((each) => each.asset === asset);
  const others = sums.filter((each) => each.asset !== asset);
  const token = asset === undefined ? { code: null, decimals: null } : tokens(network, asset);
  const count = sums.reduce((all, each) => all + each.payments, 0);
  return (
    <Card>
      <div className={styles["total"]}>
        <span className="soft">{label}</span>
        <span className={styles["figure"]}>
          <Money amount={main?.amount ?? "0"} {...token} />
        </span>
        <span className="soft numbers">{count === 1 ? "1 payment" : `${count} payments`}</span>
        {others.slice(0, 3).map((each) => (
          <span key={each.asset} className="soft">
            and <Money amount={each.amount} {...tokens(network, each.asset)} />
          </span>
        ))}
      </div>
    </Card>
  );
}

function MoneyPlot({ payments, network, since, asset }: TotalsProps & { asset: string }) {
  const { code, decimals } = useTokens()(network, asset);
  const { times, series } = useMemo(() => {
    const write = (units: string) => `${formatUnits(units, decimals ?? 0) ?? units} ${code ?? ""}`.trim();
    const scale = 10 ** (decimals ?? 0);
    const line = (label: string, items: Payments["items"]) => {
      const days = sumByDay(items, asset, since);
      return {
        label,
        values: days.map((units) => Number(units) / scale),
        format: (value: number) => `${Number(value.toPrecision(6))} ${code ?? ""}`.trim(),
        texts: days.map(write),
      };
    };
    return {
      times: daysOf(since),
      series: [line("Received", payments.received.items), line("Spent", payments.paid.items)],
    };
  }, [payments, asset, since, code, decimals]);
  return (
    <Card>
      <Plot name="Received and spent by day" times={times} series={series} />
    </Card>
  );
}
