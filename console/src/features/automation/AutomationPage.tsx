import type { Plan } from "@/api/automationTypes";
import type { PlanQuery } from "@/api/automations";
import { NETWORK_NAMES } from "@/api/networks";
import type { Network } from "@/api/types";
import { PageLink, useAddress, useChangeAddress } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Button, buttonClasses } from "@/ui/Button";
import { Select } from "@/ui/Field";
import { LoadMore } from "@/ui/LoadMore";
import { Money } from "@/ui/Money";
import { Note } from "@/ui/Note";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import styles from "./Automation.module.css";
import { isNarrowed, NO_FILTERS, readFilters } from "./planFilters";
import { planPath } from "./planPath";
import { hasEnded, KINDS, STATUSES } from "./planStates";
import { usePlanTokens } from "./planTokens";
import { describeSchedule } from "./scheduleDraft";
import { useCredits, usePlans } from "./usePlans";

const COLUMNS: readonly Column<Plan>[] = [
  {
    id: "title",
    label: "Plan",
    cell: (each) => (
      <span className={styles["name"]}>
        <PageLink to={planPath(each.id)} className="foreign">
          {each.title}
        </PageLink>
        <span className="soft">{describeSchedule(each.schedule)}</span>
      </span>
    ),
  },
  {
    id: "status",
    label: "Status",
    cell: (each) => <Badge tone={STATUSES[each.status].tone}>{each.isCancelling ? "Cancelling" : STATUSES[each.status].label}</Badge>,
  },
  { id: "kind", label: "Kind", cell: (each) => KINDS[each.kind].label },
  { id: "network", label: "Network", cell: (each) => NETWORK_NAMES[each.network] },
  {
    id: "next",
    label: "Next run",
    cell: (each) => (hasEnded(each) || each.status === "paused" ? <span className="soft">none</span> : <Time at={each.nextRuns[0]?.at} otherwise="none" />),
  },
  {
    id: "runs",
    label: "Runs used",
    align: "end",
    cell: (each) => (
      <span className="numbers">
        {each.runsConsumed} <span className="soft">of {each.runsCredited}</span>
      </span>
    ),
  },
];

const optionsOf = (all: string, record: Record<string, { label: string }>) => [
  { value: "", label: all },
  ...Object.entries(record).map(([value, { label }]) => ({ value, label })),
];

function FilterRow({ filters }: { filters: PlanQuery }) {
  const change = useChangeAddress();
  return (
    <div className={styles["filters"]} role="search" aria-label="Filters">
      <Select label="Status" options={optionsOf("All", STATUSES)} value={filters.status ?? ""} onChange={(status) => change({ status })} />
      <Select label="Kind" options={optionsOf("All", KINDS)} value={filters.kind ?? ""} onChange={(kind) => change({ kind })} />
      {isNarrowed(filters) && (
        <Button kind="quiet" onClick={() => change(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </div>
  );
}

function NewPlanLink() {
  return (
    <PageLink to="/automation/new" className={buttonClasses("primary")}>
      New plan
    </PageLink>
  );
}

function NoPlans({ filters }: { filters: PlanQuery }) {
  const change = useChangeAddress();
  if (isNarrowed(filters)) {
    return (
      <Empty title="No plan matches" action={<Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}>
        Plans of another status or kind may be there.
      </Empty>
    );
  }
  return (
    <Empty title="You have no plans yet" action={<NewPlanLink />}>
      A plan pays, buys, rebalances or calls a contract on a schedule. You see what it may do, in sentences, before your
      wallet signs.
    </Empty>
  );
}

/** What was paid and no plan holds; nothing is said while there is nothing. */
function CreditNote() {
  const { data } = useCredits();
  const held = (data?.items ?? []).filter((each) => BigInt(each.amount) > 0n);
  if (held.length === 0) return null;
  return (
    <Note tone="good">
      {held.map((each) => (
        <CreditText key={`${each.network} ${each.asset}`} {...each} />
      ))}
      The next plan there uses it first.
    </Note>
  );
}

function CreditText({ network, asset, amount }: { network: Network; asset: string; amount: string }) {
  const token = usePlanTokens(network).tokenOf(asset);
  return (
    <>
      Credit on {NETWORK_NAMES[network]}: <Money amount={amount} {...token} />.{" "}
    </>
  );
}

/** The plans of the wallet. */
export function AutomationPage() {
  const filters = readFilters(useAddress());
  const list = usePlans(filters);
  return (
    <Page
      title="Automation"
      description="Plans act by themselves on a schedule, only inside what your wallet authorized."
      actions={<NewPlanLink />}
    >
      <CreditNote />
      <FilterRow filters={filters} />
      <Answer query={list} name="the plans" isEmpty={(data) => data.length === 0} empty={<NoPlans filters={filters} />}>
        {(data) => (
          <div className="stack">
            <Table name="Plans" columns={COLUMNS} rows={data} rowKey={(each) => each.id} />
            <LoadMore list={list} count={data.length} name="plans" />
          </div>
        )}
      </Answer>
    </Page>
  );
}
