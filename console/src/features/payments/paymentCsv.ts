import type { Token } from "@/api/networks";
import { csvText } from "@/ui/csv";
import { formatUnits } from "@/ui/money";
import type { Payment } from "./paymentState";

type Cell = (payment: Payment, token: Token) => string | null | undefined;

/** `amount` is a decimal number of tokens and empty where its decimals are not known; `baseUnits` is always exact. */
const COLUMNS: Record<string, Cell> = {
  sentAt: (each) => each.sentAt,
  settledAt: (each) => each.settledAt,
  state: (each) => each.state,
  network: (each) => each.network,
  amount: (each, { decimals }) => (decimals === null ? null : formatUnits(each.amount, decimals, false)),
  token: (_, { code }) => code,
  baseUnits: (each) => each.amount,
  asset: (each) => each.asset,
  payer: (each) => each.receipt.payer,
  payTo: (each) => each.payTo,
  transaction: (each) => each.transaction,
  refund: (each) => each.refund,
  wrapper: (each) => each.sale?.wrapper,
  slug: (each) => each.sale?.slug,
  method: (each) => each.sale?.method,
  path: (each) => each.sale?.path,
  reason: (each) => each.receipt.errorReason,
};

/** Writes payments as a CSV file, one a row. */
export function paymentCsv(payments: readonly Payment[], tokenOf: (network: string, asset: string) => Token): string {
  const rows = payments.map((payment) => {
    const token = tokenOf(payment.network, payment.asset);
    return Object.values(COLUMNS).map((cell) => cell(payment, token) ?? "");
  });
  return csvText([Object.keys(COLUMNS), ...rows]);
}
