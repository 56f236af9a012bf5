import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { useTokens } from "@/api/networks";
import type { Schema } from "@/api/types";
import { PageLink } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { buttonClasses } from "@/ui/Button";
import { Identifier } from "@/ui/Identifier";
import { LoadMore } from "@/ui/LoadMore";
import { Money } from "@/ui/Money";
import { Note } from "@/ui/Note";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { TokenOf, Wrapper } from "./wrapperDraft";

type Payment = Schema<"PaymentBody">;

const columnsOf = (tokenOf: TokenOf): Column<Payment>[] => [
  { id: "amount", label: "Owed", cell: (each) => <Money amount={each.amount} {...tokenOf(each.network, each.asset)} /> },
  {
    id: "payer",
    label: "To the payer",
    cell: (each) => <Identifier id={each.receipt.payer} name="the payer" network={each.network} />,
  },
  {
    id: "request",
    label: "Request",
    cell: (each) => <code className="foreign">{each.sale ? `${each.sale.method} ${each.sale.path || "/"}` : ""}</code>,
  },
  { id: "status", label: "Last status", cell: (each) => each.sale?.upstreamStatus ?? "none" },
  { id: "sent", label: "Paid", cell: (each) => <Time at={each.sentAt} format="short" /> },
  {
    id: "close",
    label: "Close",
    isLabelHidden: true,
    align: "end",
    cell: (each) => (
      <PageLink to={`/payments/${encodeURIComponent(each.transaction)}`} className={buttonClasses("normal", "small")}>
        Pay it back
      </PageLink>
    ),
  },
];

/** Payments of a wrapper that landed and whose response can no longer be delivered. */
export function OwedTab({ wrapper }: { wrapper: Wrapper }) {
  const tokens = useTokens();
  const list = useCursorList<Payment>([...keys.payments, "owed", wrapper.id], (cursor, signal) => {
    const query = { role: "settled", state: "owed", wrapper: wrapper.id, limit: 100, ...(cursor ? { cursor } : {}) } as const;
    return call("GET /v1/payments", { query }, { signal });
  });
  return (
    <Section
      title="Owed calls"
      description="Calls that were paid and can no longer be delivered: five attempts failed, 24 hours passed, or nothing may be repeated."
    >
      <Answer
        query={list}
        name="the owed calls"
        isEmpty={(data) => data.length === 0}
        empty={<Empty title="Nothing is owed">Every paid call was delivered, or may still be.</Empty>}
      >
        {(data) => (
          <div className="stack">
            <Note tone="warn">
              Pay each buyer back from your wallet, then record the hash of that transaction on the payment&rsquo;s page.
              Only then everybody sees it as refunded.
            </Note>
            <Table name="Owed calls" columns={columnsOf(tokens)} rows={data} rowKey={(each) => each.transaction} />
            <LoadMore list={list} count={data.length} name="owed calls" />
          </div>
        )}
      </Answer>
    </Section>
  );
}
