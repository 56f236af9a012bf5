"""`/.well-known/stellar.toml`: how wallets find out where and to whom they sign in (SEP-1)."""

from collections.abc import Mapping

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network


def standard_path(network: Network) -> str:
    """Where clients of SEP-10 and SEP-45 sign in on a network."""
    return f"/v1/auth/{network.label}"


def stellar_toml(url: str, server: Address, contracts: Mapping[Network, Address | None]) -> str:
    """The file for the networks in `contracts`, each with its web-auth contract if it has one.

    The file has room for one network: pubnet where that is served, else testnet.
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
