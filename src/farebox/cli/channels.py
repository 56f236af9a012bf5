"""`farebox channels`: the accounts that let many payments settle at once."""

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import click

from farebox.app.channel_tools import ChannelTools, channel_tools
from farebox.app.settings import NetworkSettings, Settings
from farebox.cli.database import database_of, migrate_or_end
from farebox.cli.endings import settings_or_end
from farebox.cli.networks import NetworkName
from farebox.cli.operating import configured, run_sending
from farebox.facilitator.channels.channel import Channel
from farebox.facilitator.channels.keeper import Created
from farebox.facilitator.channels.ledger_room import LedgerRoom
from farebox.facilitator.channels.plan import ChannelsRefused, count_active
from farebox.kernel.networks import Network

T = TypeVar("T")
_MOST = 1000
AS_MANY_AS_FIT = 0
_network_option = click.option(
    "--network", type=NetworkName(), required=True, help="testnet or pubnet."
)


class ChannelCount(click.IntRange):
    """A number of channels, or `max`, which is read as `AS_MANY_AS_FIT`."""

    name = "number|max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number given."""
        return AS_MANY_AS_FIT if value == "max" else super().convert(value, param, ctx)


@click.group("channels")
def command() -> None:
    """Make, list, drain and retire channel accounts.

    Configured like serve: FAREBOX_* variables and the file that FAREBOX_CONFIG names. Every
    command is safe to repeat. Exit code 3: a transaction may still land; repeat the command.
    """


@command.command("create")
@_network_option
@click.option(
    "--count",
    type=ChannelCount(1, _MOST),
    required=True,
    help="How many channels are to be active afterwards, those there are included; max: as many "
    "as one ledger has room for settlements.",
)
def create(network: Network, count: int) -> None:
    """Make channel accounts until COUNT are active.

    They hold nothing; the relayer pays fees and sponsors 1 XLM of reserve for each, which comes
    back when it is retired.
    """
    created = _on_ledger(network, partial(_create, count))
    click.echo(
        f"{created.active} channels are active on {network.label}: "
        f"{created.made} made now, {created.adopted} adopted"
    )


@command.command("list")
@_network_option
def list_all(network: Network) -> None:
    """Show every channel: address, state, and whether it is free or busy."""
    channels, room = _work(network, _listed)
    for each in channels:
        click.echo(f"{each.address} {each.state:8} {'free' if each.is_free else 'busy'}")
    if room is not None:
        click.echo(
            f"{count_active(channels)} channels are active; a ledger has room for "
            f"{room.settlements} settlements, by its {room.binds}.",
            err=True,
        )


@command.command("drain")
@_network_option
@click.argument("addresses", metavar="ADDRESS...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Every active channel.")
def drain(network: Network, addresses: tuple[str, ...], *, is_all: bool) -> None:
    """Hand channels out no more; what they carry is finished."""
    if bool(addresses) == is_all:
        raise click.UsageError("Name the channels to drain, or give --all.")
    named = None if is_all else addresses
    drained = _work(network, lambda tools: tools.keeper.drain(named))
    for address in drained:
        click.echo(address)
    click.echo(f"{len(drained)} channels are drained now; retire merges them back.", err=True)


@command.command("retire")
@_network_option
def retire(network: Network) -> None:
    """Merge drained channels that carry nothing back into the relayer."""
    retired = _on_ledger(network, lambda tools: tools.keeper.retire())
    for address in retired.merged:
        click.echo(address)
    if retired.busy:
        count = len(retired.busy)
        click.echo(f"{count} drained channels still carry a payment: repeat this later.", err=True)


async def _create(count: int, tools: ChannelTools) -> Created:
    if count == AS_MANY_AS_FIT:
        room = await tools.room()
        if room is None:
            raise ChannelsRefused("The network's limits cannot be read now: give a number.")
        count = min(room.settlements, _MOST)
    return await tools.keeper.create(count)


async def _listed(tools: ChannelTools) -> tuple[list[Channel], LedgerRoom | None]:
    return await tools.keeper.channels(), await tools.room()


def _on_ledger(network: Network, work: Callable[[ChannelTools], Awaitable[T]]) -> T:
    async def checked(tools: ChannelTools) -> T:
        await tools.ledger.check_node()
        return await work(tools)

    return _work(network, checked)


def _work(network: Network, work: Callable[[ChannelTools], Awaitable[T]]) -> T:
    settings = settings_or_end(os.environ, is_to_serve=False)
    return _with_tools(settings, configured(settings, network), work)


def _with_tools(
    settings: Settings, own: NetworkSettings, work: Callable[[ChannelTools], Awaitable[T]]
) -> T:
    sent: list[ChannelTools] = []

    def on_its_way() -> str | None:
        return sent[0].ledger.on_its_way if sent else None

    with database_of(settings) as url:
        migrate_or_end(url)

        async def opened() -> T:
            async with channel_tools(settings, own, url, _tell) as tools:
                sent.append(tools)
                return await work(tools)

        return run_sending(opened(), on_its_way, refusals=ChannelsRefused)


def _tell(line: str) -> None:
    click.echo(f"channels: {line}", err=True)
