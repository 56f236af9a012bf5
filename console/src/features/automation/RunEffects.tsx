import type { TokenAmount } from "@/api/automationTypes";
import type { Network } from "@/api/types";
import { shorten } from "@/ui/links";
import { Money } from "@/ui/Money";
import styles from "./Automation.module.css";
import { usePlanTokens } from "./planTokens";

/** What a run changed on the account: a plus is what it got. */
export function RunEffects({ effects, network }: { effects: readonly TokenAmount[]; network: Network }) {
  const { tokenOf } = usePlanTokens(network);
  if (effects.length === 0) return <span className="soft">none</span>;
  return (
    <span className={styles["name"]}>
      {effects.map(({ token, amount }) => {
        const { code, decimals } = tokenOf(token);
        return (
          <span key={token} className="numbers">
            {amount.startsWith("-") ? "" : "+"}
            <Money amount={amount} decimals={decimals} code={code ?? shorten(token)} />
          </span>
        );
      })}
    </span>
  );
}
