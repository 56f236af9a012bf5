"""Which channel accounts are to be made, and whether those there are can be worked with."""

from collections.abc import Sequence
from itertools import count, islice

from farebox.facilitator.channels.channel import Channel, ChannelState, channel_signer
from farebox.kernel.addresses import Address
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.account_operations import MAX_CREATED
from farebox.stellar.signers import Relayer


class ChannelsRefused(Refusal):
    """The channels were left as they are; the message says what to change."""

    def __init__(self, message: str) -> None:
        super().__init__("channels_refused", message)


def count_active(channels: Sequence[Channel]) -> int:
    """How many are handed out."""
    return sum(each.state is ChannelState.ACTIVE for each in channels)


def next_indices(channels: Sequence[Channel], wanted: int) -> list[int]:
    """The derivation indices of the next transaction until `wanted` channels are active.

    The lowest ones free: an account that a lost run left behind is met again. An index of a
    retired channel is never free, so that its account stays gone.
    """
    used = {each.derivation_index for each in channels}
    missing = max(0, wanted - count_active(channels))
    return list(
        islice((index for index in count() if index not in used), min(missing, MAX_CREATED))
    )


def check_keys(channels: Sequence[Channel], relayer: Relayer, network: Network) -> None:
    """Every channel that still exists follows from the key of `relayer`.

    Raises:
        ChannelsRefused: another relayer made one of them.
    """
    for each in channels:
        if each.state is ChannelState.RETIRED:
            continue
        if channel_signer(relayer, network, each.derivation_index).address != each.address:
            raise ChannelsRefused(
                f"Channel {each.address} was made by another relayer: "
                "drain and retire the channels with that relayer's secret first."
            )


def choose_drained(channels: Sequence[Channel], named: Sequence[str]) -> list[Address]:
    """The active channels among those named; all of them must be known.

    Raises:
        ChannelsRefused: one is no channel of the network, or is retired.
    """
    by_address = {str(each.address): each for each in channels}
    for name in named:
        channel = by_address.get(name)
        if channel is None:
            raise ChannelsRefused(f"{name} is no channel of this network: see channels list.")
        if channel.state is ChannelState.RETIRED:
            raise ChannelsRefused(f"Channel {name} is retired already.")
    chosen = (by_address[name] for name in dict.fromkeys(named))
    return [each.address for each in chosen if each.state is ChannelState.ACTIVE]
