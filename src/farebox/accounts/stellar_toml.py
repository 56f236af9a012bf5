"""`/.well-known/stellar.toml` (SEP-1): where wallets sign in and who signs the challenges."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The public address of the service.

    `domain` is named in every challenge; `url` has no trailing slash. Without a `url` the service
    is local to this machine, on the port it listens on.
    """

    domain: str
    url: str | None

    def url_at(self, host: str, port: int) -> str:
        """Return the service's URL for a request that arrived at this host and port."""
        if self.url is not None:
            return self.url
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def standard_path(network: Network) -> str:
    """The path of the SEP-10 and SEP-45 endpoint of a network."""
    return f"/v1/auth/{network.label}"


def stellar_toml(url: str, server: Address, contracts: Mapping[Network, Address | None]) -> str:
    """Render the file; `contracts` has the served networks with their web-auth contracts.

    The format describes one network: pubnet where it is served, else testnet.
    """
    network = Network.PUBNET if Network.PUBNET in contracts else Network.TESTNET
    lines = {
        "VERSION": "2.7.0",
        "NETWORK_PASSPHRASE": network.passphrase,
        "SIGNING_KEY": server,
        "WEB_AUTH_ENDPOINT": url + standard_path(network),
    }
    contract = contracts[network]
    if contract is not None:
        lines["WEB_AUTH_FOR_CONTRACTS_ENDPOINT"] = url + standard_path(network)
        lines["WEB_AUTH_CONTRACT_ID"] = contract
    return "".join(f'{name}="{value}"\n' for name, value in lines.items())
