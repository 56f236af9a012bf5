import { formatUnits } from "./money";

interface MoneyProps {
  /** Base units as text. */
  amount: string | null | undefined;
  /** Null while they are not known: the base units are shown. */
  decimals: number | null;
  code?: string | null | undefined;
}

/** An amount of a token, with its code. */
export function Money({ amount, decimals, code }: MoneyProps) {
  if (amount === null || amount === undefined) return <span className="soft">unknown</span>;
  const text = formatUnits(amount, decimals ?? 0) ?? amount;
  return (
    <span className="numbers foreign">
      {text} <span className="soft">{decimals === null ? `base units${code ? ` of ${code}` : ""}` : code}</span>
    </span>
  );
}
