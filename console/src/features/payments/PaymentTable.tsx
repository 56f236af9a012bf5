import { useTokens } from "@/api/networks";
import { useOwner } from "@/api/session";
import { PageLink } from "@/ui/address";
import { Badge } from "@/ui/Badge";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { Role } from "./paymentFilters";
import styles from "./Payments.module.css";
import type { Payment } from "./paymentState";
import { explain, sideOf, STATES } from "./paymentState";

export const paymentPath = (transaction: string): string => `/payments/${encodeURIComponent(transaction)}`;

export function StateBadge({ state }: { state: Payment["state"] }) {
  const { label, tone } = STATES[state];
  return <Badge tone={tone}>{label}</Badge>;
}

function useColumns(role: Role): Column<Payment>[] {
  const tokens = useTokens();
  const address = useOwner()?.address ?? null;
  const other: Column<Payment> =
    role === "paid"
      ? { id: "other", label: "To", cell: (each) => <Identifier id={each.payTo} name="the recipient" /> }
      : { id: "other", label: "From", cell: (each) => <Identifier id={each.receipt.payer} name="the payer" /> };
  return [
    {
      id: "amount",
      label: "Amount",
      cell: (each) => (
        <PageLink to={paymentPath(each.transaction)} className={styles["amount"]}>
          <Money amount={each.amount} {...tokens(each.network, each.asset)} />
        </PageLink>
      ),
    },
    { id: "state", label: "State", cell: (each) => <StateBadge state={each.state} /> },
    {
      id: "next",
      label: "To do",
      cell: (each) => {
        const { short } = explain(each, sideOf(each, address));
        if (short === null) return "";
        if (each.state === "pending") return <span className="soft">{short}</span>;
        return <PageLink to={paymentPath(each.transaction)}>{short}</PageLink>;
      },
    },
    other,
    {
      id: "transaction",
      label: "Transaction",
      cell: (each) => <Identifier id={each.transaction} name="the transaction hash" network={each.network} />,
    },
    { id: "sent", label: "Sent", align: "end", cell: (each) => <Time at={each.sentAt} format="short" /> },
  ];
}

/** Payments, one a row; the amount leads to the payment's page. */
export function PaymentTable({ payments, role }: { payments: readonly Payment[]; role: Role }) {
  const columns = useColumns(role);
  return <Table name="Payments" columns={columns} rows={payments} rowKey={(each) => each.transaction} />;
}
