import { Badge } from "./Badge";
import type { PaymentState } from "./paymentStates";
import { STATES } from "./paymentStates";

/** The state of a payment. */
export function StateBadge({ state }: { state: PaymentState }) {
  const { label, tone } = STATES[state];
  return <Badge tone={tone}>{label}</Badge>;
}
