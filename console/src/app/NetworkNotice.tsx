import { useQuery } from "@tanstack/react-query";
import { NETWORK_NAMES, networksQuery, useNetwork } from "@/api/networks";
import { Problem } from "@/ui/PageState";
import styles from "./Shell.module.css";

/** Says above every page that its network cannot be used now. */
export function NetworkNotice() {
  const query = useQuery({ ...networksQuery, refetchInterval: 60_000 });
  const network = useNetwork();
  const state = query.data?.networks.find((each) => each.network === network);
  if (!state?.isServed || state.available) return null;
  const error = {
    status: 503,
    code: "network_unavailable",
    message: `${NETWORK_NAMES[network]} cannot be reached: ${state.reason ?? "no reason given"}. Payments and sign-in wait until it is back; lists still work.`,
  };
  return (
    <div className={styles["notice"]}>
      <Problem error={error} isSmall onRetry={() => void query.refetch()} />
    </div>
  );
}
