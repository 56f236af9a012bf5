"""The one place where a delegate key signs for the ledger (3.16).

It takes a structured run, rebuilds what is signed, and holds it against the plan: network, policy,
mode, calls, recipients, amounts, the leg and the last ledger. It never signs bytes of a caller.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.authority.ledger_bounds import AUTHORIZATION_LEDGERS
from farebox.automation.authority.run_entries import mandate_calls, mandate_run, unsigned_run
from farebox.automation.authority.spec_check import AllowedRun, OutsideSpec, judge_run
from farebox.automation.plans.policy_id import (
    close_digest,
    compute_policy_id,
    run_digest,
)
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.sessions.account_kinds import AccountKind
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import AuthEntry, read_entry
from farebox.stellar.entry_writer import with_signature
from farebox.stellar.invocations import Invocation, flatten
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import address_of, struct_of, symbol_of, write_value
from farebox.stellar.xdr_reader import Malformed

_SIGNED_KINDS: Final = frozenset((AccountKind.OZ_B, AccountKind.OZ_C, AccountKind.OZ_D))


class RunNotSigned(Exception):
    """A run is not what the plan allows, or the key is gone; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class RunToSign:
    """One leg of a run: its tree of calls, and the last ledger in which it may land."""

    proposal_id: str
    run_index: int
    leg_index: int
    tree: Invocation
    last_ledger: int


@dataclass(frozen=True, slots=True)
class SessionRules:
    """A smart account's rules of a session: the rule of each contract, and the keys' verifier."""

    kind: AccountKind
    verifier: Address
    rule_ids: dict[Address, int]


class DelegateSigner:
    """Signs runs and closings of plans on one network."""

    def __init__(self, network: Network, keys: DelegateKeys) -> None:
        self._network, self._keys = network, keys

    def sign_mandate_run(
        self, plan: StoredPlan, run: RunToSign, now: LedgerReading, *, mandate: Address
    ) -> Invocation:
        """The signed call of a mandate's `run`; the caller has read the mandate's policy id.

        Raises:
            RunNotSigned: the plan does not allow it.
            SealBroken: the key cannot be opened.
        """
        terms = plan.terms
        allowed = self._check(plan, run, AuthorityMode.MANDATE, actor=mandate, now=now)
        calls = mandate_calls(run.tree, allowed)
        index = mandate_index(run.run_index, run.leg_index, legs=terms.legs)
        digest = run_digest(
            self._network,
            mandate,
            terms.policy_id,
            run_index=index,
            valid_until=run.last_ledger,
            calls=calls,
        )
        return mandate_run(
            mandate,
            calls,
            run_index=index,
            valid_until=run.last_ledger,
            signature=self._sign(plan, digest),
        )

    def sign_session_run(
        self,
        plan: StoredPlan,
        run: RunToSign,
        now: LedgerReading,
        *,
        rules: SessionRules,
        nonce: int,
    ) -> AuthEntry:
        """The signed entry by which the smart account authorizes a run.

        Raises:
            RunNotSigned: as `sign_mandate_run`, or a call has no rule.
            SealBroken: the key cannot be opened.
        """
        account = plan.terms.account
        if account is None or rules.kind not in _SIGNED_KINDS:
            raise RunNotSigned("account_unsupported")
        self._check(plan, run, AuthorityMode.SESSION, actor=account, now=now)
        try:
            ids = [rules.rule_ids[call.contract] for call in flatten(run.tree)]
        except KeyError:
            raise RunNotSigned("rule_missing") from None
        unsigned = unsigned_run(
            self._network, account, run.tree, nonce=nonce, expires_at_ledger=run.last_ledger
        )
        rule_ids = ScVec(tuple(ScNumber(ScKind.U32, each) for each in ids))
        digest = _account_digest(rules.kind, account, unsigned.payload, rule_ids)
        signature = self._sign(plan, digest)
        key = ScBytes(ScKind.BYTES, plan.terms.delegate)
        signer = ScVec((symbol_of("External"), address_of(rules.verifier), key))
        signed = ScBytes(ScKind.BYTES, signature.reveal())
        payload = struct_of(context_rule_ids=rule_ids, signers=ScMap(((signer, signed),)))
        return read_entry(with_signature(read_entry(unsigned.entry), write_value(payload)))

    def sign_close(self, plan: StoredPlan, contract: Address) -> Secret[bytes]:
        """The signature (64 bytes) that closes the plan's session at its guard or mandate.

        Raises:
            RunNotSigned: the key is gone.
            SealBroken: the key cannot be opened.
        """
        self._read_spec(plan)
        return self._sign(plan, close_digest(self._network, contract, plan.terms.policy_id))

    def _check(
        self,
        plan: StoredPlan,
        run: RunToSign,
        mode: AuthorityMode,
        *,
        actor: Address,
        now: LedgerReading,
    ) -> AllowedRun:
        spec, terms = self._read_spec(plan), plan.terms
        if terms.mode is not mode or spec.mode is not mode:
            raise RunNotSigned("mode_differs")
        if run.proposal_id != terms.id or not 0 <= run.leg_index < terms.legs:
            raise RunNotSigned("run_of_another_plan")
        if not now.sequence < run.last_ledger <= now.sequence + AUTHORIZATION_LEDGERS:
            raise RunNotSigned("expiry_out_of_range")
        ledger_time = int(now.close_at.timestamp())
        allowed = judge_run(spec, run.tree, actor=actor, ledger_time=ledger_time)
        if isinstance(allowed, OutsideSpec):
            raise RunNotSigned("outside_spec")
        if allowed.row is not None and allowed.row != run.leg_index:
            raise RunNotSigned("another_leg")
        return allowed

    def _read_spec(self, plan: StoredPlan) -> SessionSpec:
        """The plan's spec, which must be the one that its policy id names."""
        terms = plan.terms
        raw = terms.session_spec
        if raw is None or terms.network is not self._network:
            raise RunNotSigned("no_session_spec")
        if compute_policy_id(self._network, raw) != terms.policy_id:
            raise RunNotSigned("policy_differs")
        try:
            spec = read_spec(raw)
        except Malformed:
            raise RunNotSigned("spec_unreadable") from None
        if (spec.account, spec.delegate) != (terms.account, terms.delegate):
            raise RunNotSigned("policy_differs")
        return spec

    def _sign(self, plan: StoredPlan, digest: bytes) -> Secret[bytes]:
        signature = self._keys.sign(plan, digest)
        if signature is None:
            raise RunNotSigned("key_shredded")
        return Secret(signature)


def mandate_index(run_index: int, leg_index: int, *, legs: int) -> int:
    """The index of a leg for its mandate, the same for every attempt: they rise in their order."""
    return run_index * legs + leg_index


def _account_digest(kind: AccountKind, account: Address, payload: bytes, ids: ScValue) -> bytes:
    """The 32 bytes that a signer of a smart account signs (1.2): by its generation."""
    if kind is not AccountKind.OZ_D:
        return hashlib.sha256(payload + write_value(ids)).digest()
    structure = struct_of(
        account=address_of(account),
        context_rule_ids=ids,
        signature_payload=ScBytes(ScKind.BYTES, payload),
    )
    return hashlib.sha256(write_value(structure)).digest()
