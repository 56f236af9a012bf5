import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { useOwnerQuery } from "@/api/session";
import { PageLink } from "@/ui/address";
import styles from "./Discover.module.css";
import { readPurchaseKey, shortAddress } from "./listing";
import { calls, callWatch } from "./pay";

/** The account's payments that are not finished, with the way back to them. They continue meanwhile. */
export function OpenPayments() {
  const client = useQueryClient();
  const { data, isPending } = useOwnerQuery();
  const owner = data ?? null;
  const names = useSyncExternalStore(calls.subscribe, () =>
    isPending
      ? ""
      : calls
          .open(owner)
          .map((each) => each.name)
          .join("\n"),
  );
  useEffect(() => {
    if (owner) calls.adopt(owner);
    if (names === "") return;
    for (const { name, place } of calls.open(owner)) callWatch.add(client, name, place.key);
  }, [client, names, owner]);
  if (names === "") return null;
  return (
    <ul className="stack">
      {calls.open(owner).map(({ name, place, payment }) => {
        const at = readPurchaseKey(place.key);
        if (!at) return null;
        const search = { resource: at.resource, network: at.network, method: at.method, payTo: payment.terms.payTo };
        return (
          <li key={name} className={`${styles["notice"]} ${styles["warn"]}`}>
            <p className="foreign">
              A payment to {shortAddress(at.resource)} is not finished.{" "}
              <PageLink to="/discover/listing" search={search}>
                Look at it
              </PageLink>
            </p>
          </li>
        );
      })}
    </ul>
  );
}
