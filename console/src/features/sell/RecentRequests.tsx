import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { PageLink } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Copy } from "@/ui/Copy";
import { shorten } from "@/ui/links";
import { LoadMore } from "@/ui/LoadMore";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { Analytics } from "./analyticsSeries";
import { OUTCOMES } from "./analyticsSeries";
import type { Wrapper } from "./wrapperDraft";

type Recorded = Analytics["requests"][number];

const COLUMNS: readonly Column<Recorded>[] = [
  { id: "at", label: "Time", cell: (each) => <Time at={each.at} format="short" /> },
  { id: "request", label: "Request", cell: (each) => <code className="foreign">{`${each.method} ${each.path || "/"}`}</code> },
  { id: "status", label: "Status", cell: (each) => <span className="numbers">{each.status}</span> },
  { id: "outcome", label: "Outcome", cell: (each) => OUTCOMES[each.outcome] ?? each.outcome },
  { id: "duration", label: "Took", align: "end", cell: (each) => <span className="numbers">{each.durationMs} ms</span> },
  {
    id: "payment",
    label: "Payment",
    cell: (each) =>
      each.transaction === null ? (
        ""
      ) : (
        <PageLink to={`/payments/${encodeURIComponent(each.transaction)}`}>
          <code>{shorten(each.transaction)}</code>
        </PageLink>
      ),
  },
  {
    id: "id",
    label: "Request id",
    isLabelHidden: true,
    align: "end",
    cell: (each) => <Copy text={each.requestId} name="the request id" />,
  },
];

/** The last requests to a wrapper, without their headers, bodies and queries. */
export function RecentRequests({ wrapper }: { wrapper: Wrapper }) {
  const list = useCursorList<Recorded>(
    [...keys.wrappers, "requests", wrapper.id],
    async (cursor, signal) => {
      const query = { days: 1, limit: 10, ...(cursor ? { cursor } : {}) };
      const page = await call("GET /v1/wrappers/{id}/analytics", { path: { id: wrapper.id }, query }, { signal });
      return { items: page.requests, pagination: page.pagination };
    },
  );
  return (
    <Section title="Last requests" description="Recorded without headers, bodies and queries.">
      <Answer
        query={list}
        name="the requests"
        isEmpty={(data) => data.length === 0}
        empty={<Empty title="No requests yet">Requests are listed here, those that were not paid too.</Empty>}
      >
        {(data) => (
          <div className="stack">
            <Table name="Last requests" columns={COLUMNS} rows={data} rowKey={(each) => `${each.requestId} ${each.at}`} />
            <LoadMore list={list} count={data.length} name="requests" />
          </div>
        )}
      </Answer>
    </Section>
  );
}
