import { useInfiniteQuery } from "@tanstack/react-query";
import type { Plan, PlanEvent } from "@/api/automationTypes";
import { listEvents } from "@/api/automations";
import { keys } from "@/api/keys";
import { Answer } from "@/ui/Answer";
import { Button } from "@/ui/Button";
import { shorten } from "@/ui/links";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { eventTitle } from "./runStates";

const HIDDEN = new Set(["from", "to", "run", "payment", "policyId", "legIndex"]);

function memberText(name: string, value: unknown, leg: unknown): string {
  if (name === "runIndex" && typeof value === "number") {
    return `run ${value + 1}${typeof leg === "number" && leg > 0 ? `, payment ${leg + 1}` : ""}`;
  }
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return `${name}: ${name === "transaction" ? shorten(text) : text}`;
}

/** The members of an event in one line; a stranger may have written some of them. */
function dataText(data: Record<string, unknown>): string {
  const members = Object.entries(data).filter(([name, value]) => !HIDDEN.has(name) && value !== null && value !== "");
  return members.map(([name, value]) => memberText(name, value, data["legIndex"])).join(", ");
}

const COLUMNS: readonly Column<PlanEvent>[] = [
  { id: "at", label: "Time", cell: (each) => <Time at={each.at} format="short" /> },
  { id: "kind", label: "Event", cell: (each) => eventTitle(each.kind) },
  { id: "data", label: "Details", cell: (each) => <span className="soft foreign">{dataText(each.data).slice(0, 300)}</span> },
];

/** What happened to a plan, from its proposal on. */
export function EventList({ plan }: { plan: Plan }) {
  const query = useInfiniteQuery({
    queryKey: [...keys.automations, "events", plan.id],
    queryFn: ({ pageParam, signal }) => listEvents(plan.id, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last) => (last.items.length < 100 ? undefined : last.next),
  });
  const events = query.data?.pages.flatMap((page) => page.items);
  return (
    <Answer
      query={{ data: events, error: query.error, refetch: query.refetch }}
      name="the events"
      isEmpty={(data) => data.length === 0}
      empty={<Empty title="No events yet" />}
    >
      {(data) => (
        <div className="stack">
          <Table name="Events" columns={COLUMNS} rows={data} rowKey={(each) => String(each.number)} />
          {query.hasNextPage && (
            <div className="row">
              <Button isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                Show more
              </Button>
            </div>
          )}
        </div>
      )}
    </Answer>
  );
}
