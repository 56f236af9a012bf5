"""Channel accounts: whose sequence number a settlement uses, while the relayer pays its fee."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.signers import Relayer, derived_signer

_PURPOSE: Final = "farebox channel account v1"


class ChannelState(StrEnum):
    """Whether a channel is handed out."""

    ACTIVE = "active"
    DRAINING = "draining"  # no longer handed out; what it carries is finished
    RETIRED = "retired"  # merged back into the relayer on the ledger


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as it is listed."""

    network: Network
    address: Address
    derivation_index: int
    state: ChannelState
    is_free: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to sign the next transaction of one source account, until it is given back.

    `epoch` only grows with each lease of a channel: whoever holds an older one cannot write an
    envelope down any more, and what is not written down is not sent. `used_sequence` is the last
    number known to be used; None when it must be read from the ledger.
    """

    source: Relayer
    epoch: int
    used_sequence: int | None


def channel_signer(relayer: Relayer, network: Network, derivation_index: int) -> Relayer:
    """The key of a channel account, made from the relayer's: nothing more has to be kept.

    Whoever has the relayer's key has the channels' as well, which hold nothing but a reserve that
    the relayer sponsors.
    """
    return derived_signer(relayer, f"{_PURPOSE}|{network}|{derivation_index}")
