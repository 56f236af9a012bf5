"""A captor of `upto`: what it signs, and the calls that it sends."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.operation import Operation

from e2e.upto_chain import UptoChain
from testing.contract_calls import address as contract_address
from testing.contract_calls import invocation, invoke
from testing.contracts import Entry, call
from testing.entries import unsigned_entry

_LIFE: Final = 60  # ledgers that a captor's signature lives


@dataclass(frozen=True, slots=True)
class Grant:
    """What a payer grants a captor, as docs/upto.md has it."""

    asset: str
    captor: str
    expiration_ledger: int
    max_amount: int
    not_after: int
    not_before: int
    pay_to: str
    payer: str
    context: str = "03" * 32
    nonce: str = field(default_factory=lambda: secrets.token_hex(32))


@dataclass(frozen=True, slots=True)
class Captor:
    """Signs and sends captures; `key` may be another's, which the ledger refuses."""

    chain: UptoChain
    key: Keypair

    async def capture(
        self,
        grant: Grant,
        payer_entry: str,
        amount: int,
        *,
        signed_amount: int | None = None,
        nonce: int | None = None,
    ) -> Operation:
        """A capture of an amount; the captor's signature may be of another one."""
        signed = amount if signed_amount is None else signed_amount
        entry = await self.entry(grant.captor, "capture", _args(grant, signed), nonce)
        entries = [Entry.from_xdr(payer_entry), entry]
        return call(self.chain.contract, "capture", _args(grant, amount), entries)

    def bare(self, grant: Grant, payer_entry: str, amount: int) -> Operation:
        """A capture without the captor's entry."""
        entries = [Entry.from_xdr(payer_entry)]
        return call(self.chain.contract, "capture", _args(grant, amount), entries)

    def resigned(self, payer_entry: str, key: Keypair, until: int) -> str:
        """A payer's entry with a signature that lives to another ledger."""
        passphrase = self.chain.network.passphrase
        return authorize_entry(Entry.from_xdr(payer_entry), key, until, passphrase).to_xdr()

    async def status(self, grant: Grant) -> list[object]:
        """Read how a grant ended: its name, and the amount if it was captured."""
        parties = [scval.to_address(grant.payer), scval.to_address(grant.captor)]
        nonce = scval.to_bytes(bytes.fromhex(grant.nonce))
        value = await self.chain.read(self.chain.contract, "status", *parties, nonce)
        found = scval.from_vec(value)
        return [scval.from_symbol(found[0]), *(scval.from_int128(each) for each in found[1:])]

    async def entry(
        self, address: str, function: str, args: Sequence[xdr.SCVal], nonce: int | None = None
    ) -> Entry:
        """An entry of an address for one call of the contract, signed by this key."""
        until = await self.chain.ledger() + _LIFE
        unsigned = unsigned_entry(
            invocation(invoke(contract_address(self.chain.contract), function, *args)),
            contract_address(address),
            nonce=secrets.randbelow(2**62) if nonce is None else nonce,
            expires_at_ledger=until,
        )
        return authorize_entry(unsigned, self.key, until, self.chain.network.passphrase)

    async def signed_call(self, address: str, function: str, *args: xdr.SCVal) -> Operation:
        """A call with one entry of an address, signed by this key."""
        entry = await self.entry(address, function, args)
        return call(self.chain.contract, function, args, [entry])


def _args(grant: Grant, amount: int) -> list[xdr.SCVal]:
    return [grant_value(grant), scval.to_int128(amount), scval.to_bytes(bytes(32))]


def grant_value(grant: Grant) -> xdr.SCVal:
    """The grant as the contract takes it."""
    raw = asdict(grant)
    addresses = ("asset", "captor", "pay_to", "payer")
    return scval.to_struct(
        {
            **{name: scval.to_address(raw[name]) for name in addresses},
            **{name: scval.to_bytes(bytes.fromhex(raw[name])) for name in ("context", "nonce")},
            **{name: scval.to_uint64(raw[name]) for name in ("not_after", "not_before")},
            "expiration_ledger": scval.to_uint32(grant.expiration_ledger),
            "max_amount": scval.to_int128(grant.max_amount),
        }
    )
