import { useEffect, useSyncExternalStore } from "react";
import { PageLink } from "@/ui/address";
import styles from "./Discover.module.css";
import { readPurchaseKey, shortAddress } from "./listing";
import { openPayments, subscribe } from "./purchaseStore";
import { continuePayment } from "./usePurchase";

const readNames = (): string =>
  openPayments()
    .map((each) => each.key)
    .join("\n");

/** The payments of this tab that are not finished, with the way back to them. They continue meanwhile. */
export function OpenPayments() {
  const names = useSyncExternalStore(subscribe, readNames);
  useEffect(() => {
    for (const key of names === "" ? [] : names.split("\n")) continuePayment(key);
  }, [names]);
  if (names === "") return null;
  return (
    <ul className="stack">
      {openPayments().map(({ key, payment }) => {
        const at = readPurchaseKey(key);
        if (!at) return null;
        const search = { resource: at.resource, network: at.network, method: at.method, payTo: payment.terms.payTo };
        return (
          <li key={key} className={`${styles["notice"]} ${styles["warn"]}`}>
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
