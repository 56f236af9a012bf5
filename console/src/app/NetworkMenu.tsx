import { chooseNetwork, NETWORK_NAMES, useNetwork, useServedNetworks } from "@/api/networks";
import { useOwner } from "@/api/session";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { ChevronIcon } from "@/ui/icons";
import { Menu } from "@/ui/Menu";

/** The network of the pages. A session is of one network; without one a person chooses. */
export function NetworkMenu() {
  const owner = useOwner();
  const network = useNetwork();
  const served = useServedNetworks();
  if (owner) return null;
  if (served.length < 2) return <Badge>{NETWORK_NAMES[network]}</Badge>;
  return (
    <Menu
      name="Network"
      trigger={
        <Button kind="quiet" size="small" aria-label={`Network: ${NETWORK_NAMES[network]}`}>
          {NETWORK_NAMES[network]}
          <ChevronIcon />
        </Button>
      }
      items={served.map((each) => ({
        label: NETWORK_NAMES[each.network],
        isSelected: each.network === network,
        onSelect: () => chooseNetwork(each.network),
      }))}
    />
  );
}
