import type { Preflight } from "@/api/automationTypes";
import type { Network } from "@/api/types";
import { CheckIcon, CloseIcon } from "@/ui/icons";
import { Money } from "@/ui/Money";
import { shorten } from "@/ui/links";
import styles from "./Automation.module.css";
import { usePlanTokens } from "./planTokens";

/** What was checked, each with its mark; the word in it says it as well. */
export function PreflightList({ preflight, network }: { preflight: Preflight; network: Network }) {
  const { tokenOf } = usePlanTokens(network);
  const { firstRun, estimatedFeeStroops: fee } = preflight;
  return (
    <div className="stack">
      <ul className={styles["checks"]} aria-label="Checks">
        {preflight.checks.map((each) => (
          <li key={each.code}>
            <span className={`${styles["mark"]} ${each.ok ? styles["good"] : styles["bad"]}`}>
              {each.ok ? <CheckIcon /> : <CloseIcon />}
              <span className="visually-hidden">{each.ok ? "passed:" : "failed:"}</span>
            </span>
            <span className="foreign">{each.detail}</span>
          </li>
        ))}
      </ul>
      {firstRun !== null && firstRun.effects.length > 0 && (
        <div>
          <p className="soft">The first run, if it were now:</p>
          {firstRun.effects.map((each) => {
            const token = tokenOf(each.token);
            return (
              <p key={each.token}>
                {each.amount.startsWith("-") ? "" : "+"}
                <Money amount={each.amount} decimals={token.decimals} code={token.code ?? shorten(each.token)} />
              </p>
            );
          })}
        </div>
      )}
      {fee !== null && (
        <p className="soft">
          Network fee of a run: about <Money amount={fee} decimals={7} code="XLM" />, paid by the service.
        </p>
      )}
    </div>
  );
}
