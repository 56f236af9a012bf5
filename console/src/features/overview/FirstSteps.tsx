import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { NETWORK_NAMES } from "@/api/networks";
import type { Owner } from "@/api/session";
import { openSignIn } from "@/api/session";
import { PageLink } from "@/ui/address";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Page";
import { isAtLeast } from "@/ui/units";
import styles from "./Overview.module.css";

interface FirstStepsProps {
  owner: Owner | null;
  wrappers: number;
  payments: number;
}

/** Whether the account holds something to pay with; undefined while that is not known. */
function useHolds(owner: Owner | null): boolean | undefined {
  const { data } = useQuery({
    queryKey: [...keys.accounts, owner?.network, owner?.address],
    queryFn: ({ signal }) =>
      call("GET /v1/accounts/{network}/{address}", { path: { network: owner?.network ?? "", address: owner?.address ?? "" } as never }, { signal }),
    enabled: owner !== null,
    retry: false,
  });
  return data?.balances.some((each) => each.asset !== "native" && each.balance !== null && isAtLeast(each.balance, "1"));
}

/** What a new account does first. Gone once the wallet has sold and paid. */
export function FirstSteps({ owner, wrappers, payments }: FirstStepsProps) {
  const holds = useHolds(owner);
  if (wrappers > 0 && payments > 0) return null;
  const network = owner === null ? "" : ` on ${NETWORK_NAMES[owner.network]}`;
  const steps = [
    {
      title: "Sign in with your wallet",
      text: "It signs a challenge, which costs nothing.",
      isDone: owner !== null,
      action: (
        <Button size="small" onClick={openSignIn}>
          Sign in
        </Button>
      ),
    },
    {
      title: `Hold USDC${network}`,
      text: "A payment needs no XLM: the service pays the network fee.",
      isDone: holds === true,
      action: null,
    },
    {
      title: "Buy a call",
      text: "Find an API in the catalog and try it.",
      isDone: payments > 0,
      action: <PageLink to="/discover">Open the catalog</PageLink>,
    },
    {
      title: "Sell an API",
      text: "Put a price on an API that you have, without changing it.",
      isDone: wrappers > 0,
      action: <PageLink to="/sell/new">Create a wrapper</PageLink>,
    },
  ];
  return (
    <Section title="First steps">
      <ol className={styles["steps"]}>
        {steps.map(({ title, text, isDone, action }, index) => (
          <li key={title} className={styles["step"]}>
            <span className={styles["number"]} aria-hidden="true">
              {index + 1}
            </span>
            <div>
              <h3>{title}</h3>
              <p className="soft">{text}</p>
            </div>
            {isDone ? <Badge tone="good">Done</Badge> : action}
          </li>
        ))}
      </ol>
    </Section>
  );
}
