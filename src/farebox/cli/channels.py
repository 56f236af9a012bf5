"""`farebox channels`: create, list, drain and retire channel accounts."""

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click

from farebox.app.channel_tools import ChannelPurpose, ChannelTools, channel_tools
from farebox.audit.event import Action
from farebox.cli.database import migrated_database
from farebox.cli.exits import load_settings
from farebox.cli.networks import NetworkName
from farebox.cli.operator_commands import configured_network, run_sending, write_command
from farebox.facilitator.channels.channel import Channel, ChannelsRefused, count_active
from farebox.facilitator.channels.ledger_capacity import LedgerCapacity
from farebox.facilitator.channels.maintain_channels import ChannelsCreated
from farebox.kernel.networks import Network

T = TypeVar("T")
_MOST = 1000
AS_MANY_AS_FIT = 0
_purpose_option = click.option(
    "--for",
    "purpose",
    type=click.Choice([each.value for each in ChannelPurpose]),
    default=ChannelPurpose.SETTLEMENT.value,
    show_default=True,
    help="settlement: the relayer's channels; automation: the paymaster's.",
)
_network_option = click.option(
    "--network", type=NetworkName(), required=True, help="testnet or pubnet."
)


class ChannelCount(click.IntRange):
    """A number of channels, or `max`, which is `AS_MANY_AS_FIT`."""

    name = "number|max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number."""
        return AS_MANY_AS_FIT if value == "max" else super().convert(value, param, ctx)


@click.group("channels")
def command() -> None:
    """Create, list, drain and retire channel accounts.

    Configured like serve: FAREBOX_* variables and the file that FAREBOX_CONFIG names. Every
    command is safe to repeat. Exit code 3: a transaction may still take effect; repeat the command.
    """


@command.command("create")
@_network_option
@_purpose_option
@click.option(
    "--count",
    type=ChannelCount(1, _MOST),
    required=True,
    help="The number of active channels afterwards, existing ones included; max: as many as one "
    "ledger has room for settlements.",
)
def create(network: Network, purpose: str, count: int) -> None:
    """Create channel accounts until COUNT are active.

    They hold no balance. The relayer sponsors a reserve of 1 XLM for each, which is returned when
    the channel is retired.
    """
    created = _run_on_ledger(network, purpose, Action.CHANNELS_CREATED, partial(_create, count))
    click.echo(
        f"{created.active} channels are active on {network.label}: "
        f"{created.created} made now, {created.adopted} adopted"
    )


@command.command("list")
@_network_option
@_purpose_option
def list_all(network: Network, purpose: str) -> None:
    """Show every channel: address, state, and whether it is free or busy."""
    channels, room = _run(network, purpose, _read_channels, is_read_only=True)
    for each in channels:
        click.echo(f"{each.address} {each.state:8} {'free' if each.is_free else 'busy'}")
    if room is not None:
        click.echo(
            f"{count_active(channels)} channels are active; a ledger has room for "
            f"{room.settlements} settlements, by its {room.limit}.",
            err=True,
        )


@command.command("drain")
@_network_option
@_purpose_option
@click.argument("addresses", metavar="ADDRESS...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Every active channel.")
def drain(network: Network, purpose: str, addresses: tuple[str, ...], *, is_all: bool) -> None:
    """Stop leasing channels; their current payments are completed."""
    if bool(addresses) == is_all:
        raise click.UsageError("Name the channels to drain, or give --all.")
    named = None if is_all else addresses
    drained = _run(network, purpose, partial(_drain, _subject(network, purpose), named))
    for address in drained:
        click.echo(address)
    click.echo(
        f"{len(drained)} channels are drained; retire merges them into the relayer.", err=True
    )


@command.command("retire")
@_network_option
@_purpose_option
def retire(network: Network, purpose: str) -> None:
    """Merge idle drained channels into the relayer."""
    retired = _run_on_ledger(
        network, purpose, Action.CHANNELS_RETIRED, lambda tools: tools.maintenance.retire()
    )
    for address in retired.merged:
        click.echo(address)
    if retired.busy:
        count = len(retired.busy)
        click.echo(
            f"{count} drained channels still have a payment: repeat the command later.", err=True
        )


async def _create(count: int, tools: ChannelTools) -> ChannelsCreated:
    if count == AS_MANY_AS_FIT:
        room = await tools.room()
        if room is None:
            raise ChannelsRefused("The network's limits cannot be read now: give a number.")
        count = min(room.settlements, _MOST)
    return await tools.maintenance.create(count)


async def _drain(subject: str, named: tuple[str, ...] | None, tools: ChannelTools) -> Sequence[str]:
    await _write_event(tools, Action.CHANNELS_DRAINED, subject)
    return await tools.maintenance.drain(named)


def _subject(network: Network, purpose: str) -> str:
    """The subject of an audit event."""
    is_settlement = purpose == ChannelPurpose.SETTLEMENT
    return network.value if is_settlement else f"{network.value} {purpose}"


async def _write_event(tools: ChannelTools, action: Action, subject: str) -> None:
    async with tools.database.connection() as db:
        await write_command(db, action, subject)


async def _read_channels(tools: ChannelTools) -> tuple[list[Channel], LedgerCapacity | None]:
    return await tools.maintenance.list_channels(), await tools.room()


def _run_on_ledger(
    network: Network, purpose: str, action: Action, work: Callable[[ChannelTools], Awaitable[T]]
) -> T:
    async def checked(tools: ChannelTools) -> T:
        await tools.ledger.check_node()
        await _write_event(tools, action, _subject(network, purpose))
        return await work(tools)

    return _run(network, purpose, checked)


def _run(
    network: Network,
    purpose: str,
    work: Callable[[ChannelTools], Awaitable[T]],
    *,
    is_read_only: bool = False,
) -> T:
    settings = load_settings(os.environ, is_to_serve=False)
    own = configured_network(settings, network)
    opened: list[ChannelTools] = []

    def unresolved() -> str | None:
        return opened[0].ledger.unresolved if opened else None

    with migrated_database(settings, is_read_only=is_read_only) as url:

        async def run_work() -> T:
            chosen = ChannelPurpose(purpose)
            async with channel_tools(settings, own, url, _print, purpose=chosen) as tools:
                opened.append(tools)
                return await work(tools)

        return run_sending(run_work(), unresolved, user_faults=ChannelsRefused)


def _print(line: str) -> None:
    click.echo(f"channels: {line}", err=True)
