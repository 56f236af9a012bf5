"""Whether signed entries are the ones that a plan asked its owner for (3.15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.authority.issued_entries import IssuedEntry, latest_expiry
from farebox.automation.authority.ledger_bounds import still_lives
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    PAYING_KINDS,
    AuthEntry,
    Unsigned,
    every_signature_verifies,
    keys_are_sorted,
    read_entry,
)
from farebox.stellar.entry_writer import unsigned_form, unsigned_tree
from farebox.stellar.ledger_clock import LedgerReading

_MEMBER: Final = "presignedEntriesXdr"


@dataclass(frozen=True, slots=True)
class SignedEntry:
    """The signed entry of one leg; `member` is where it stands in the request."""

    issued: IssuedEntry
    entry: AuthEntry
    member: str

    @property
    def place(self) -> tuple[int, int]:
        """The indexes of its run and leg."""
        return self.issued.slot.run_index, self.issued.slot.leg_index


def match_entries(
    entries: Sequence[AuthEntry],
    issued: Sequence[IssuedEntry],
    *,
    network: Network,
    account: Address,
    now: LedgerReading,
) -> tuple[SignedEntry, ...]:
    """The signed entries in the order of the issued ones; there is exactly one for each of them.

    Network, account, nonce and tree are those that were issued, the expiry is that of the run's
    window, and every signature of a classic account verifies. Whether the signers weigh enough is
    for a simulation to say.

    Raises:
        AutomationRefused: `session_mismatch` or `session_expires_too_soon`, with the member.
    """
    expected = {each.slot.nonce: each for each in issued}
    found: dict[int, SignedEntry] = {}
    for number, entry in enumerate(entries):
        member = f"{_MEMBER}[{number}]"
        own = _issued_one(entry, expected, account, member)
        if entry.nonce in found:
            raise _mismatch(member, "The entry of this run is there twice.")
        _check_signature(entry, network, account, member)
        _check_expiry(entry, own, now, member)
        found[entry.nonce] = SignedEntry(own, entry, member)
    missing = [each.slot for each in issued if each.slot.nonce not in found]
    if missing:
        slot = missing[0]
        why = (
            f"{len(missing)} entries are missing: run {slot.run_index}, leg {slot.leg_index} first."
        )
        raise _mismatch(_MEMBER, why)
    return tuple(found[each.slot.nonce] for each in issued)


def _issued_one(
    entry: AuthEntry, expected: Mapping[int, IssuedEntry], account: Address, member: str
) -> IssuedEntry:
    if entry.kind not in PAYING_KINDS or entry.address != account:
        raise _mismatch(member, "It is not by the plan's account.")
    own = expected.get(entry.nonce)
    if own is None:
        raise _mismatch(member, "Its nonce is none that the plan has given.")
    asked = read_entry(own.unsigned.entry)
    same = unsigned_tree(
        account,
        nonce=entry.nonce,
        expires_at_ledger=entry.expires_at_ledger,
        invocation=asked.invocation,
        kind=entry.kind,
    )
    if unsigned_form(entry, expires_at_ledger=entry.expires_at_ledger) != same:
        raise _mismatch(member, "It authorizes something else than the plan's run.")
    return own


def _check_signature(entry: AuthEntry, network: Network, account: Address, member: str) -> None:
    if isinstance(entry.signature, Unsigned):
        raise _mismatch(member, "It is not signed.")
    if not is_account(account):
        return  # only its own contract can judge the signature: the simulation asks it
    if not every_signature_verifies(entry, network.id) or not keys_are_sorted(entry):
        raise _mismatch(member, "Its signature does not verify on this network.")


def _check_expiry(entry: AuthEntry, issued: IssuedEntry, now: LedgerReading, member: str) -> None:
    if not still_lives(now, entry.expires_at_ledger, issued.land_by):
        raise AutomationRefused(
            ErrorCode.SESSION_EXPIRES_TOO_SOON,
            "It expires before its run may land: fetch the session again and sign its entries.",
            field=member,
        )
    if entry.expires_at_ledger > latest_expiry(now, issued):
        raise _mismatch(member, "It lives longer than its run needs.")


def _mismatch(member: str, why: str) -> AutomationRefused:
    return AutomationRefused(ErrorCode.SESSION_MISMATCH, why, field=member)
