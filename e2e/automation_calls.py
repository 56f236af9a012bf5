"""One run of a plan as a program writes it that has the delegate's key, and nothing of ours."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stellar_sdk import Address, Keypair, scval, xdr
from stellar_sdk.operation import Operation

from farebox.automation.plans.wire import PlanKind
from testing.automation_cases import LEGS, SOLD, Case, Place
from testing.automation_chain import NET
from testing.contract_calls import address, invocation, invoke
from testing.contracts import Entry, call
from testing.entries import unsigned_entry
from testing.machine import RunFailed
from testing.smart_accounts import Owner, sign_by_external

LIFE: Final = 24  # ledgers that a delegate's signature lives
_NETWORK_ID: Final = hashlib.sha256(NET.passphrase.encode()).digest()


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call; `index` is its place in the specification."""

    index: int
    contract: str
    function: str
    args: tuple[xdr.SCVal, ...]

    def but(self, place: int, value: xdr.SCVal) -> "MadeCall":
        """The same call with one argument changed."""
        return replace(self, args=(*self.args[:place], value, *self.args[place + 1 :]))


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A run: the call that is made, and the transfer below it that its payer authorizes too."""

    root: MadeCall
    nested: MadeCall | None = None


@dataclass(frozen=True, slots=True)
class Delegate:
    """What the key of a plan may use: its mandate, or its rules on a smart account."""

    owner: Owner
    key: Keypair = field(repr=False)
    policy_id: bytes
    mandate: str = ""
    rules: Mapping[str, int] = field(default_factory=dict)

    @property
    def actor(self) -> str:
        """Who makes the calls of a run."""
        return self.mandate or self.owner.account

    def operation(self, run: MadeRun, *, index: int, ledger: int) -> Operation:
        """The run as anybody sends it, signed by the delegate; `index` counts a mandate's runs."""
        until = ledger + LIFE
        return self._mandate_run(run, index, until) if self.mandate else self._entry(run, until)

    def _mandate_run(self, run: MadeRun, index: int, until: int) -> Operation:
        made = [run.root, *([run.nested] if run.nested else [])]
        calls = scval.to_vec(
            [
                scval.to_struct(
                    {"args": scval.to_vec(list(each.args)), "call": scval.to_uint32(each.index)}
                )
                for each in made
            ]
        )
        bounds = [scval.to_uint32(index), scval.to_uint32(until)]
        ids = [scval.to_address(self.mandate), scval.to_bytes(self.policy_id)]
        content = scval.to_vec([*ids, *bounds, calls])
        preimage = b"x402.automation.run.v1\0" + _NETWORK_ID + content.to_xdr_bytes()
        signature = self.key.sign(hashlib.sha256(preimage).digest())
        args = [*bounds, calls, scval.to_bytes(signature)]
        return call(self.mandate, "run", args)

    def _entry(self, run: MadeRun, until: int) -> Operation:
        made = [run.root, *([run.nested] if run.nested else [])]
        first = self.rules.get(run.root.contract, next(iter(self.rules.values())))
        rules = [self.rules.get(each.contract, first) for each in made]
        unsigned = unsigned_entry(
            _invocation(run),
            address(self.owner.account),
            nonce=secrets.randbelow(2**62),
            expires_at_ledger=until,
        )
        signed = sign_by_external(unsigned, self.key, rules, until, self.owner)
        return call(run.root.contract, run.root.function, list(run.root.args), [signed])


def made_run(case: Case, place: Place, actor: str, *, now: int, row: int = 0) -> MadeRun:
    """A run that the plan of a case allows `actor` to make now; `row` is a leg's."""
    me, amount = scval.to_address(actor), scval.to_int128(SOLD)
    if case.kind is PlanKind.DISBURSEMENT:
        to, units = place.recipients[row], LEGS[row]
        args = (me, scval.to_address(to), scval.to_int128(units))
        return MadeRun(MadeCall(0, place.asset, "transfer", args))
    if case.kind is PlanKind.CONTRACT_CALL:
        fed = (me, scval.to_address(place.asset), amount)
        return MadeRun(MadeCall(0, place.keeper, "feed", fed), _paid(place, me, place.keeper))
    way = scval.to_vec([scval.to_address(place.asset), scval.to_address(place.native)])
    least = scval.to_int128(SOLD * 96 // 100)  # above the owner's rate and the oracle's floor
    swap = (amount, least, way, me, scval.to_uint64(now + 300))
    root = MadeCall(0, place.router, "swap_exact_tokens_for_tokens", swap)
    return MadeRun(root, _paid(place, me, place.pair))


def _paid(place: Place, payer: xdr.SCVal, to: str) -> MadeCall:
    args = (payer, scval.to_address(to), scval.to_int128(SOLD))
    return MadeCall(1, place.asset, "transfer", args)


def run_of_entry(entry: Entry) -> MadeRun:
    """The run that an entry authorizes."""
    below = entry.root_invocation.sub_invocations
    return MadeRun(_call_of(entry.root_invocation), _call_of(below[0]) if below else None)


def with_run(raw: str, run: MadeRun) -> Operation:
    """A signed entry (base64) in which the run is another one, and the call that it authorizes."""
    entry = Entry.from_xdr(raw)
    entry.root_invocation = _invocation(run)
    return call(run.root.contract, run.root.function, list(run.root.args), [entry])


def _call_of(invocation: xdr.SorobanAuthorizedInvocation) -> MadeCall:
    made = invocation.function.contract_fn
    if made is None:
        raise RunFailed("an entry authorizes no call of a contract")
    contract = Address.from_xdr_sc_address(made.contract_address).address
    return MadeCall(0, contract, made.function_name.sc_symbol.decode(), tuple(made.args))


def _invocation(run: MadeRun) -> xdr.SorobanAuthorizedInvocation:
    root, *below = (
        invoke(address(each.contract), each.function, *each.args)
        for each in (run.root, run.nested)
        if each is not None
    )
    return invocation(root, *map(invocation, below))
