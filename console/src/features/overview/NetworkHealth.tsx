import { useQuery } from "@tanstack/react-query";
import { ApiError } from "@/api/errors";
import type { NetworkState } from "@/api/networks";
import { NETWORK_NAMES, networksQuery } from "@/api/networks";
import { asRecord, asTexts } from "@/api/records";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Money } from "@/ui/Money";
import { Card, Facts, Grid, Section } from "@/ui/Page";
import { Problem } from "@/ui/PageState";
import { Time } from "@/ui/Time";
import styles from "./Overview.module.css";
import { healthQuery } from "./reads";

interface Part {
  name: string;
  isOk: boolean;
  reasons: string[];
}

/** The parts of `/health/ready`, which answers 503 with the same body when one is unavailable. */
function partsOf(data: unknown, error: unknown): Part[] | null {
  const body = asRecord(data ?? (error instanceof ApiError ? error.details : null));
  if (!("parts" in body)) return null;
  return Object.entries(asRecord(body["parts"])).map(([name, part]) => {
    const { status, reasons } = asRecord(part);
    return { name, isOk: status === "ok", reasons: asTexts(reasons) };
  });
}

/** Whether the service and each network can be used now. */
export function NetworkHealth() {
  const networks = useQuery({ ...networksQuery, refetchInterval: 30_000 });
  const health = useQuery(healthQuery);
  const parts = partsOf(health.data, health.error);
  return (
    <Section title="Networks" description="As the service sees them now.">
      {parts === null && health.error && <Problem error={health.error} isSmall onRetry={() => void health.refetch()} />}
      <Answer query={networks} name="the networks">
        {(data) => (
          <Grid>
            {data.networks.map((each) => (
              <NetworkCard key={each.network} state={each} part={parts?.find((part) => part.name === each.network)} />
            ))}
          </Grid>
        )}
      </Answer>
      {parts?.some((each) => !each.isOk) && (
        <p className={styles["parts"]}>
          Unavailable now:{" "}
          {parts
            .filter((each) => !each.isOk)
            .map((each) => `${each.name}${each.reasons.length > 0 ? ` (${each.reasons.join(", ")})` : ""}`)
            .join("; ")}
        </p>
      )}
    </Section>
  );
}

function StateBadge({ state, part }: { state: NetworkState; part: Part | undefined }) {
  if (!state.isServed) return <Badge>Not served</Badge>;
  if (!state.available) return <Badge tone="bad">Unavailable</Badge>;
  return part && !part.isOk ? <Badge tone="warn">Impaired</Badge> : <Badge tone="good">Available</Badge>;
}

function NetworkCard({ state, part }: { state: NetworkState; part: Part | undefined }) {
  const { ledger, fees } = state;
  return (
    <Card>
      <div className={styles["head"]}>
        <h3>{NETWORK_NAMES[state.network]}</h3>
        <StateBadge state={state} part={part} />
      </div>
      {!state.isServed && <p className="soft">The operator of this service does not serve it.</p>}
      {state.isServed && !state.available && <p className="soft">{state.reason ?? "No reason is given."}</p>}
      {ledger && (
        <Facts
          items={[
            ["Latest ledger", <span key="ledger" className="numbers">{ledger.sequence.toLocaleString("en")}</span>],
            ["Closed", <Time key="closed" at={ledger.closedAt} />],
            ["A ledger every", <span key="every" className="numbers">{ledger.secondsPerLedger.toFixed(1)} s</span>],
            [
              "Fee of a payment",
              fees?.meanPayment === undefined ? (
                <span key="fee" className="soft">
                  not known yet
                </span>
              ) : (
                <Money key="fee" amount={fees.meanPayment} decimals={7} code="XLM" />
              ),
            ],
          ]}
        />
      )}
    </Card>
  );
}
