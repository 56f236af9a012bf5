import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Schema } from "@/api/types";
import { Answer } from "@/ui/Answer";
import { Card, Section } from "@/ui/Page";
import { Plot } from "@/ui/Plot";
import { daysOf, latencyByDay, PERIOD_DAYS } from "./figures";
import { analyticsQuery } from "./reads";

interface LatencyProps {
  wrappers: readonly Schema<"WrapperBody">[];
  since: string;
}

/** How fast the wrappers answered, by day. Nothing for a wallet that sells nothing. */
export function Latency({ wrappers, since }: LatencyProps) {
  const ids = wrappers.map((each) => each.id);
  const query = useQuery(analyticsQuery(ids, PERIOD_DAYS));
  if (ids.length === 0) return null;
  return (
    <Section
      title="Response time"
      description={`The average of your ${ids.length > 10 ? "first 10 wrappers" : "wrappers"}, upstream included.`}
    >
      <Answer query={query} name="the response times">
        {(analytics) => <LatencyPlot days={analytics.flatMap((each) => each.days)} since={since} />}
      </Answer>
    </Section>
  );
}

function LatencyPlot({ days, since }: { days: readonly Schema<"DayBody">[]; since: string }) {
  const { times, series } = useMemo(
    () => ({
      times: daysOf(since),
      series: [
        {
          label: "Response time",
          values: latencyByDay(days, since),
          format: (value: number) => `${Math.round(value)} ms`,
        },
      ],
    }),
    [days, since],
  );
  const hasAny = series[0]?.values.some((each) => each !== null);
  return (
    <Card>
      {hasAny ? (
        <Plot name="Average response time by day" times={times} series={series} />
      ) : (
        <p className="soft">Nobody has called your wrappers in the last {PERIOD_DAYS} days.</p>
      )}
    </Card>
  );
}
