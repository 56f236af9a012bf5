"""Options that name a network and its node."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from farebox.app.setting_fields import InvalidText
from farebox.app.setting_rules import rpc_url as rpc_url_rule
from farebox.cli.exits import Unavailable, UserActionRequired
from farebox.kernel.networks import Network, parse_network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LatestLedger
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.soroban_rpc import RpcCall, SorobanRpc

A = TypeVar("A")
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
class NodeEndpoint:
    """A node's address and the network it must follow."""

    network: Network
    rpc_url: str
    authority: Path | None = None

    def open(self) -> HttpSorobanRpc:
        """Make a client of the node; close it after use."""
        try:
            return HttpSorobanRpc(self.network, Secret(self.rpc_url), authority=self.authority)
        except OSError as error:  # ssl.SSLError is one
            raise UserActionRequired(
                f"{self.authority} is not a PEM file of certificates."
            ) from error

    @property
    def friendbot_url(self) -> str | None:
        """The URL of the network's friendbot; None without one."""
        if self.rpc_url == _PUBLIC_TESTNET_RPC:
            return _PUBLIC_FRIENDBOT
        host = urlsplit(self.rpc_url).hostname or ""
        is_local = host in ("localhost", "127.0.0.1", "::1")
        return f"{self.rpc_url.rstrip('/')}/friendbot" if is_local else None


async def check_passphrase(rpc: HttpSorobanRpc, node: NodeEndpoint) -> None:
    """Check that the node follows its network.

    Raises:
        Unavailable: it follows another one.
    """
    actual = await rpc.network()
    if actual.passphrase != node.network.passphrase:
        raise Unavailable(
            f"The node behind --rpc-url follows another network than {node.network.label}."
        )


class CheckedNode(SorobanRpc):
    """A node whose network is checked before its latest ledger is used for a signature."""

    def __init__(self, rpc: HttpSorobanRpc, node: NodeEndpoint) -> None:
        self._rpc, self._node = rpc, node

    async def call(self, call: RpcCall[Any, A]) -> A:
        """Call the node."""
        return await self._rpc.call(call)

    async def close(self) -> None:
        """Close the connections to the node."""
        await self._rpc.close()

    async def latest_ledger(self) -> LatestLedger:
        """Check the node's network, then read the latest ledger."""
        await check_passphrase(self._rpc, self._node)
        return await super().latest_ledger()


def node_endpoint(network: Network, rpc_url: str | None, authority: Path | None) -> NodeEndpoint:
    """Find the node of a network: options first, then FAREBOX_* variables, then the public node.

    Raises:
        UserActionRequired: no node is configured for a network without a public one.
    """
    label = network.label.upper()
    named = rpc_url or os.environ.get(f"FAREBOX_RPC_URL_{label}")
    if named is None and network is Network.TESTNET:
        return NodeEndpoint(network, _PUBLIC_TESTNET_RPC, authority)
    if named is None:
        raise UserActionRequired(
            f"No node of {network.label} is configured: give --rpc-url, "
            f"or set FAREBOX_RPC_URL_{label}."
        )
    try:
        rpc_url_rule(named)
    except InvalidText as invalid:
        raise UserActionRequired(f"The node's address must be {invalid}.") from None
    configured = os.environ.get(f"FAREBOX_RPC_AUTHORITY_{label}")
    return NodeEndpoint(network, named, authority or (Path(configured) if configured else None))


def node_options(function: F) -> F:
    """Add `--rpc-url` and `--rpc-authority`."""
    url = click.option(
        "--rpc-url",
        metavar="URL",
        help="The Stellar RPC node to use. Default: FAREBOX_RPC_URL_TESTNET or _PUBNET; "
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
    """Add `--wallet`."""
    return click.option(
        "--wallet",
        "wallet_path",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The wallet file. Default: ~/.config/farebox/wallet.json.",
    )(function)
