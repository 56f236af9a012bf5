import { NETWORK_NAMES, useServedNetworks } from "@/api/networks";
import { useChangeAddress } from "@/ui/address";
import { Button } from "@/ui/Button";
import { Field, Select } from "@/ui/Field";
import { STATES } from "@/ui/paymentStates";
import type { PaymentFilters } from "./paymentFilters";
import { isNarrowed } from "./paymentFilters";
import styles from "./Payments.module.css";

const STATE_OPTIONS = [
  { value: "", label: "All states" },
  ...Object.entries(STATES).map(([value, { label }]) => ({ value, label })),
];

export const NO_FILTERS = { state: undefined, wrapper: undefined, from: undefined, to: undefined };

/** The filters of a list of payments; each is in the page's address. */
export function PaymentFilterRow({ filters }: { filters: PaymentFilters }) {
  const change = useChangeAddress();
  const served = useServedNetworks();
  return (
    <div className={styles["filters"]} role="search" aria-label="Filters">
      <Select
        label="State"
        options={STATE_OPTIONS}
        value={filters.state ?? ""}
        onChange={(state) => change({ state })}
      />
      {served.length > 1 && filters.role === "settled" && (
        <Select
          label="Network"
          options={served.map((each) => ({ value: each.network, label: NETWORK_NAMES[each.network] }))}
          value={filters.network}
          onChange={(network) => change({ network })}
        />
      )}
      <Field
        label="From (UTC)"
        type="date"
        max={filters.to ?? undefined}
        value={filters.from ?? ""}
        onChange={(from) => change({ from })}
      />
      <Field
        label="To (UTC)"
        type="date"
        min={filters.from ?? undefined}
        value={filters.to ?? ""}
        onChange={(to) => change({ to })}
      />
      {isNarrowed(filters) && (
        <Button kind="quiet" onClick={() => change(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </div>
  );
}
