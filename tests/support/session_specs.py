"""Session specifications and what is signed with them, as clients write them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Address, Keypair, scval, xdr

from support.running_devnet import TESTNET

_NETWORK_ID: Final = hashlib.sha256(TESTNET.encode()).digest()
Values = Sequence[xdr.SCVal]


@dataclass(frozen=True, slots=True)
class ListedCall:
    """One call of a specification."""

    contract: str
    function: str
    args: tuple[xdr.SCVal, ...]
    amount: int | None = None
    under: int | None = None
    rows: tuple[tuple[xdr.SCVal, ...], ...] = ()

    def value(self) -> xdr.SCVal:
        """The call as the ledger has it."""
        return scval.to_struct(
            {
                "amount": _optional(self.amount),
                "args": scval.to_vec(list(self.args)),
                "contract": scval.to_address(self.contract),
                "function": scval.to_symbol(self.function),
                "rows": scval.to_vec([scval.to_vec(list(row)) for row in self.rows]),
                "under": _optional(self.under),
            }
        )


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a delegate may do."""

    account: str
    mode: str
    delegate: Keypair
    calls: tuple[ListedCall, ...]
    caps: tuple[tuple[str, int, int], ...]  # token, most a run, most in all
    not_before: int
    not_after: int
    interval: int = 60
    max_uses: int = 3

    def value(self) -> xdr.SCVal:
        """The specification as the ledger has it."""
        return scval.to_struct(
            {
                "account": scval.to_address(self.account),
                "calls": scval.to_vec([call.value() for call in self.calls]),
                "caps": scval.to_vec([_cap(*cap) for cap in self.caps]),
                "delegate": scval.to_bytes(self.delegate.raw_public_key()),
                "interval": scval.to_uint64(self.interval),
                "max_uses": scval.to_uint32(self.max_uses),
                "mode": scval.to_symbol(self.mode),
                "not_after": scval.to_uint64(self.not_after),
                "not_before": scval.to_uint64(self.not_before),
                "version": scval.to_uint32(1),
            }
        )

    def policy_id(self) -> bytes:
        """The hash that names the specification."""
        return digest("x402.automation.policy.v1", self.value())


def rule(variant: str, *elements: xdr.SCVal) -> xdr.SCVal:
    """The rule of one argument."""
    return scval.to_vec([scval.to_symbol(variant), *elements])


def eq(value: xdr.SCVal) -> xdr.SCVal:
    """The argument is this value."""
    return rule("Eq", value)


def digest(domain: str, content: xdr.SCVal) -> bytes:
    """The hash of a value under a domain and the network."""
    preimage = domain.encode() + b"\0" + _NETWORK_ID + content.to_xdr_bytes()
    return hashlib.sha256(preimage).digest()


def invocations(*calls: tuple[int, Values]) -> xdr.SCVal:
    """The calls of a mandate's run: the index of each and its arguments."""
    return scval.to_vec(
        [
            scval.to_struct({"args": scval.to_vec(list(args)), "call": scval.to_uint32(index)})
            for index, args in calls
        ]
    )


def signed_run(
    mandate: str, spec: SessionSpec, index: int, valid_until: int, calls: xdr.SCVal
) -> list[xdr.SCVal]:
    """The arguments of a mandate's `run`, signed by the delegate."""
    bounds = [scval.to_uint32(index), scval.to_uint32(valid_until)]
    ids = [scval.to_address(mandate), scval.to_bytes(spec.policy_id())]
    hashed = digest("x402.automation.run.v1", scval.to_vec([*ids, *bounds, calls]))
    return [*bounds, calls, scval.to_bytes(spec.delegate.sign(hashed))]


def signed_close(contract: str, spec: SessionSpec) -> xdr.SCVal:
    """The delegate's signature that closes a session at a guard or mandate."""
    ids = [scval.to_address(contract), scval.to_bytes(spec.policy_id())]
    return scval.to_bytes(spec.delegate.sign(digest("x402.automation.close.v1", scval.to_vec(ids))))


def path(*tokens: str) -> xdr.SCVal:
    """A list of addresses."""
    return scval.to_vec([Address(token).to_xdr_sc_val() for token in tokens])


def _cap(token: str, per_run: int, total: int) -> xdr.SCVal:
    return scval.to_struct(
        {
            "per_run": scval.to_int128(per_run),
            "token": scval.to_address(token),
            "total": scval.to_int128(total),
        }
    )


def _optional(number: int | None) -> xdr.SCVal:
    return scval.to_void() if number is None else scval.to_uint32(number)
