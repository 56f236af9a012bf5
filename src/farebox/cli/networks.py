"""How a command names a network and reaches it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import click

from farebox.cli.endings import MustChange, Unavailable
from farebox.kernel.networks import Network, parse_network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LatestLedger, RawSimulation
from farebox.stellar.rpc_http import HttpSorobanRpc

F = TypeVar("F", bound=Callable[..., object])
_PUBLIC_TESTNET_RPC: Final = "https://soroban-testnet.stellar.org"
_PUBLIC_FRIENDBOT: Final = "https://friendbot.stellar.org"


class NetworkName(click.ParamType[Network]):
    """`testnet`, `pubnet`, or the same with `stellar:` before it."""

    name = "network"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Network:
        """The network named."""
        text = str(value)
        network = parse_network(text) or parse_network(f"stellar:{text}")
        if network is None:
            self.fail("name testnet or pubnet", param, ctx)
        return network


@dataclass(frozen=True, slots=True)
class Reach:
    """A network and the node it is reached through."""

    network: Network
    rpc_url: str
    authority: Path | None = None

    def open(self) -> HttpSorobanRpc:
        """A client of the node; close it after use."""
        try:
            return HttpSorobanRpc(self.network, Secret(self.rpc_url), authority=self.authority)
        except OSError as error:  # ssl.SSLError is one
            raise MustChange(f"{self.authority} is no PEM file of an authority.") from error

    @property
    def friendbot_url(self) -> str | None:
        """Where coins are to be had; None where nobody gives them."""
        if self.rpc_url == _PUBLIC_TESTNET_RPC:
            return _PUBLIC_FRIENDBOT
        host = urlsplit(self.rpc_url).hostname or ""
        is_local = host in ("localhost", "127.0.0.1", "::1")
        return f"{self.rpc_url.rstrip('/')}/friendbot" if is_local else None


async def check_follows(rpc: HttpSorobanRpc, reach: Reach) -> None:
    """The node follows the network named: what is signed for one must not reach another."""
    node = await rpc.network()
    if node.passphrase != reach.network.passphrase:
        raise Unavailable(
            f"The node behind --rpc-url follows another network than {reach.network.label}."
        )


class FollowedNode:
    """A node that is asked which network it follows before anything is signed by its clock."""

    def __init__(self, rpc: HttpSorobanRpc, reach: Reach) -> None:
        self._rpc, self._reach = rpc, reach

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger of the network named."""
        await check_follows(self._rpc, self._reach)
        return await self._rpc.latest_ledger()

    async def simulate(self, envelope: str) -> RawSimulation:
        """A dry run that enforces the signature."""
        return await self._rpc.simulate(envelope)


def reach_of(network: Network, rpc_url: str | None, authority: Path | None) -> Reach:
    """How to reach a network: the options, else the variables the service reads, else the public.

    Raises:
        MustChange: no node is named for a network without a public one.
    """
    label = network.label.upper()
    named = rpc_url or os.environ.get(f"FAREBOX_RPC_URL_{label}")
    if named is None and network is Network.TESTNET:
        return Reach(network, _PUBLIC_TESTNET_RPC, authority)
    if named is None:
        raise MustChange(
            f"No node of {network.label} is named: give --rpc-url, or set FAREBOX_RPC_URL_{label}."
        )
    if urlsplit(named).scheme not in ("http", "https") or not urlsplit(named).hostname:
        raise MustChange("The node's address must be an http or https URL.")
    configured = os.environ.get(f"FAREBOX_RPC_AUTHORITY_{label}")
    return Reach(network, named, authority or (Path(configured) if configured else None))


def node_options(function: F) -> F:
    """`--rpc-url` and `--rpc-authority`."""
    url = click.option(
        "--rpc-url",
        metavar="URL",
        help="The Stellar RPC node to ask. Default: FAREBOX_RPC_URL_TESTNET or _PUBNET; "
        "for testnet the public one.",
    )
    authority = click.option(
        "--rpc-authority",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A PEM file of a certificate authority to trust for the node.",
    )
    return url(authority(function))


def wallet_option(function: F) -> F:
    """`--wallet`."""
    return click.option(
        "--wallet",
        "wallet_path",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The wallet file. Default: ~/.config/farebox/wallet.json.",
    )(function)
