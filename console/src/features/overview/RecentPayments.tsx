import { useTokens } from "@/api/networks";
import type { Network } from "@/api/types";
import { PageLink } from "@/ui/address";
import type { BadgeTone } from "@/ui/Badge";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { shorten } from "@/ui/links";
import { Money } from "@/ui/Money";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { Payment } from "./figures";

const TONES: Partial<Record<Payment["state"], BadgeTone>> = {
  delivered: "good",
  settled: "good",
  paid: "accent",
  pending: "warn",
  unproven: "warn",
  owed: "warn",
  failed: "bad",
};

interface RecentPaymentsProps {
  payments: readonly Payment[];
  address: string;
  network: Network;
}

/** The newest payments of the wallet, both ways. */
export function RecentPayments({ payments, address, network }: RecentPaymentsProps) {
  const tokens = useTokens();
  return (
    <Section
      title="Recent payments"
      actions={
        <PageLink to="/payments" className={buttonClasses()}>
          All payments
        </PageLink>
      }
    >
      {payments.length === 0 ? (
        <Empty title="No payments yet" action={<PageLink to="/discover">Find something to buy</PageLink>}>
          What your wallet pays and receives is shown here.
        </Empty>
      ) : (
        <Table
          name="Recent payments"
          rows={payments}
          rowKey={(each) => each.transaction}
          columns={[
            {
              id: "transaction",
              label: "Payment",
              cell: (each) => (
                <PageLink to={`/payments/${encodeURIComponent(each.transaction)}`}>
                  <code>{shorten(each.transaction, 6)}</code>
                </PageLink>
              ),
            },
            { id: "direction", label: "Direction", cell: (each) => (each.receipt.payer === address ? "Spent" : "Received") },
            {
              id: "amount",
              label: "Amount",
              align: "end",
              cell: (each) => <Money amount={each.amount} {...tokens(network, each.asset)} />,
            },
            { id: "state", label: "State", cell: (each) => <Badge tone={TONES[each.state] ?? "neutral"}>{each.state}</Badge> },
            { id: "sent", label: "Sent", align: "end", cell: (each) => <Time at={each.sentAt} /> },
          ]}
        />
      )}
    </Section>
  );
}
