import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { useAddressParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Select } from "@/ui/Field";
import { Identifier } from "@/ui/Identifier";
import { LoadMore } from "@/ui/LoadMore";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { AuditEvent } from "./auditEvents";
import { ACTIONS, nameAction, nameActor } from "./auditEvents";

const OPTIONS = [
  { value: "", label: "Everything" },
  ...Object.entries(ACTIONS).map(([value, label]) => ({ value, label })),
];

const COLUMNS: Column<AuditEvent>[] = [
  { id: "time", label: "Time", cell: (event) => <Time at={event.doneAt} format="short" /> },
  { id: "action", label: "What", cell: (event) => <span className="foreign">{nameAction(event.action)}</span> },
  {
    id: "subject",
    label: "Record",
    cell: (event) => <Identifier id={event.subject} name="the id of the record" />,
  },
  {
    id: "actor",
    label: "By",
    cell: (event) => (
      <span className="foreign" title={event.actorId ?? undefined}>
        {nameActor(event.actor)}
      </span>
    ),
  },
  {
    id: "request",
    label: "Request id",
    cell: (event) => <Identifier id={event.requestId} name="the request id" />,
  },
];

/** Every sign-in and change of the wallet's records, newest first. */
export function AuditLog() {
  const [action, setAction] = useAddressParameter("action");
  const list = useCursorList<AuditEvent>([...keys.audit, action], (cursor, signal) =>
    call(
      "GET /v1/audit",
      { query: { limit: 50, ...(action === "" ? {} : { action: action as never }), ...(cursor ? { cursor } : {}) } },
      { signal },
    ),
  );
  return (
    <Section
      title="Audit log"
      description="Every sign-in and every change of your keys, secrets and wrappers, written with the change itself."
      actions={<Select isInline label="Show" value={action} onChange={setAction} options={OPTIONS} />}
    >
      <Answer
        query={list}
        name="the audit log"
        isEmpty={(events) => events.length === 0}
        empty={<Empty title="No events of this kind" />}
      >
        {(events) => (
          <div className="stack">
            <Table name="Audit log" columns={COLUMNS} rows={events} rowKey={(event) => event.id} />
            <LoadMore list={list} count={events.length} name="events" />
          </div>
        )}
      </Answer>
    </Section>
  );
}
