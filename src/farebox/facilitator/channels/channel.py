"""Channel accounts and their leases.

A settlement uses the sequence number of a channel account, while the relayer pays its fee.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count, islice
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.errors import CommandRefused
from farebox.kernel.networks import Network
from farebox.stellar.account_operations import MAX_CREATED
from farebox.stellar.signers import SigningAccount, derive_signing_account

_PURPOSE: Final = "farebox channel account v1"


class ChannelState(StrEnum):
    """The state of a channel account; only an active one is leased."""

    ACTIVE = "active"
    DRAINING = "draining"  # no longer leased; its last settlement is finished
    RETIRED = "retired"  # merged back into the relayer on the ledger


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel account; it is free without a lease and without an unresolved envelope."""

    network: Network
    address: Address
    derivation_index: int
    state: ChannelState
    is_free: bool


@dataclass(frozen=True, slots=True)
class ChannelLease:
    """The right to sign the next transaction of one account, until it is released.

    `derivation_index` names the channel's key; None is the relayer itself, which is leased where
    a network has no channels. `epoch` is the fencing token: it grows with each lease of a channel,
    and the database records no envelope under an older one (docs/decisions/0012). `used_sequence`
    is the last sequence number known to be used; None when it must be read from the ledger. At
    `pass_on_until` (monotonic seconds) the lease goes back to the pool that all replicas share.
    `is_settled`: the last envelope used `used_sequence`, and that is recorded.
    """

    address: Address
    derivation_index: int | None
    epoch: int
    used_sequence: int | None
    pass_on_until: float = 0.0
    is_settled: bool = False

    @property
    def is_relayer(self) -> bool:
        """Whether the account is the relayer, which then pays its own fee."""
        return self.derivation_index is None

    def with_landed(self, sequence: int) -> "ChannelLease":
        """The lease once an envelope of this sequence number has landed, successful or not."""
        return replace(self, used_sequence=sequence, is_settled=True)

    def with_unknown_sequence(self) -> "ChannelLease":
        """The lease while the sequence number used last is unknown."""
        return replace(self, used_sequence=None, is_settled=False)


class ChannelsRefused(CommandRefused):
    """A command changed no channel; the message names what the operator must change."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def channel_signer(
    relayer: SigningAccount, network: Network, derivation_index: int
) -> SigningAccount:
    """Derive the key of a channel account from the relayer's, the only key that is stored.

    A channel account holds nothing but a reserve that the relayer sponsors.
    """
    return derive_signing_account(relayer, f"{_PURPOSE}|{network}|{derivation_index}")


def count_active(channels: Sequence[Channel]) -> int:
    """Count the active channels."""
    return sum(each.state is ChannelState.ACTIVE for each in channels)


def choose_indices(channels: Sequence[Channel], target: int) -> list[int]:
    """Choose the derivation indices for the next transaction, until `target` channels are active.

    The lowest free indices are chosen, so that an account of an interrupted run is found again.
    The index of a retired channel is never free, so that its account stays merged.
    """
    used = {each.derivation_index for each in channels}
    missing = max(0, target - count_active(channels))
    return list(
        islice((index for index in count() if index not in used), min(missing, MAX_CREATED))
    )


def check_keys(channels: Sequence[Channel], relayer: SigningAccount, network: Network) -> None:
    """Check that every channel that still exists is derived from the key of `relayer`.

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


def choose_active(channels: Sequence[Channel], addresses: Sequence[str]) -> list[Address]:
    """Choose the active channels among these addresses, each of which must be a channel.

    Raises:
        ChannelsRefused: one is no channel of the network, or is retired.
    """
    by_address = {str(each.address): each for each in channels}
    for address in addresses:
        channel = by_address.get(address)
        if channel is None:
            raise ChannelsRefused(f"{address} is no channel of this network: see channels list.")
        if channel.state is ChannelState.RETIRED:
            raise ChannelsRefused(f"Channel {address} is retired already.")
    chosen = (by_address[address] for address in dict.fromkeys(addresses))
    return [each.address for each in chosen if each.state is ChannelState.ACTIVE]
