"""What is installed for a plan, read back from the ledger and held against the plan (3.5 row 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.authority.installation import called_contracts
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.refusal import AutomationRefused
from farebox.automation.sessions.account_kinds import SESSION_KINDS, AccountKindReader
from farebox.automation.sessions.contract_reads import ContractReads, ReadRefused
from farebox.automation.sessions.guard_state import SessionMissing, read_guard
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.automation.sessions.mandate_state import MandateMissing, read_mandate
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.contract_data import data_key, read_data
from farebox.stellar.scval import ScBytes, ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_reader import items_in, members_in, number_in
from farebox.stellar.scval_writer import address_of, struct_of, symbol_of
from farebox.stellar.xdr_reader import Malformed

_RULE: Final = "get_context_rule"


@dataclass(frozen=True, slots=True)
class InstalledAtEnd:
    """What is installed for a plan that has ended, and whether its contract has closed it."""

    installed: Installed
    is_closed: bool


class SessionReadBack:
    """Reads sessions and mandates of one network back."""

    def __init__(
        self,
        ledger: EntryReader,
        reads: ContractReads,
        kinds: AccountKindReader,
        trees: InstallTrees,
    ) -> None:
        self._ledger, self._reads, self._kinds, self._trees = ledger, reads, kinds, trees

    async def read(self, terms: PlanTerms) -> Installed | None:
        """What is installed; None where nothing of the plan is on the ledger yet.

        Raises:
            AutomationRefused: `session_mismatch`: it is not what the plan says, and which part.
            RpcUnavailable: no node answers.
        """
        if terms.session_spec is None or terms.account is None:
            raise _differs("The plan has no session.")
        spec = read_spec(terms.session_spec)
        if terms.mode is AuthorityMode.MANDATE:
            return await self._mandate(terms, spec)
        return await self._session(terms, spec)

    async def read_at_end(self, terms: PlanTerms) -> InstalledAtEnd | None:
        """What is installed for a plan that has ended: to be closed, whatever it lacks for runs.

        Raises:
            AutomationRefused, AutomationUnavailable: the contracts are not known.
            RpcUnavailable: no node answers.
        """
        end, account = terms.window.not_after, terms.account
        if terms.mode is AuthorityMode.MANDATE:
            mandate = self._trees.mandate(terms)
            opened = await read_mandate(self._ledger, mandate)
            if isinstance(opened, MandateMissing):
                return None
            found = Installed(opened.as_of_ledger, valid_until=end, mandate_id=mandate)
            return InstalledAtEnd(found, opened.is_closed)
        contracts = self._trees.session_contracts()
        if account is None:
            return None
        state = await read_guard(self._ledger, contracts.guard, account, terms.policy_id)
        if isinstance(state, SessionMissing):
            return None
        found = Installed(
            state.as_of_ledger,
            valid_until=end,
            rule_ids=tuple(state.rules.values()),
            guard_id=contracts.guard,
            verifier_id=contracts.verifier,
        )
        return InstalledAtEnd(found, state.is_closed)

    async def _mandate(self, terms: PlanTerms, spec: SessionSpec) -> Installed | None:
        mandate = self._trees.mandate(terms)
        state = await read_mandate(self._ledger, mandate)
        if isinstance(state, MandateMissing):
            return None
        if (state.policy_id, state.spec_xdr) != (terms.policy_id, terms.session_spec):
            raise _differs("The mandate has another specification.")
        if state.is_closed:
            raise _differs("The mandate is closed, for ever.")
        ends: list[int] = []
        for cap in spec.caps:
            left = cap.total - state.uses.spent.get(cap.token, 0)
            if left > 0:
                end = await self._allowance_end(terms, spec, cap.token, mandate, left)
                ends += [] if end is None else [end]
        return Installed(
            ledger=state.as_of_ledger,
            valid_until=terms.window.not_after,
            valid_until_ledger=min(ends, default=None),
            mandate_id=mandate,
        )

    async def _allowance_end(
        self, terms: PlanTerms, spec: SessionSpec, token: Address, mandate: Address, left: int
    ) -> int | None:
        """The last ledger of an allowance that suffices; None where the token keeps it elsewhere.

        The asset contract and most other tokens keep it where this looks (CAP-46-6).
        """
        parties = {"from": address_of(spec.account), "spender": address_of(mandate)}
        key = data_key(
            token, ScVec((symbol_of("Allowance"), struct_of(**parties))), is_temporary=True
        )
        found = await self._ledger.ledger_entries([key])
        data = next((each.data for each in found.entries if each.key == key), None)
        kept = None if data is None else read_data(data, key)
        if kept is None:
            await self._ask_allowance(terms, token, (spec.account, mandate), left)
            return None
        try:
            members = members_in(kept)
            amount = number_in(members.get("amount"), ScKind.I128)
            end = number_in(members.get("live_until_ledger"), ScKind.U32)
        except Malformed:
            await self._ask_allowance(terms, token, (spec.account, mandate), left)
            return None
        if amount < left or end <= found.latest_ledger:
            raise _differs(f"The allowance of {token} is {amount}, and the plan needs {left}.")
        return end

    async def _ask_allowance(
        self, terms: PlanTerms, token: Address, parties: tuple[Address, Address], left: int
    ) -> None:
        try:
            answered = await self._reads.read(
                terms.owner, token, "allowance", *map(address_of, parties)
            )
        except ReadRefused:
            raise _differs(f"The allowance of {token} cannot be read.") from None
        amount = answered.value if isinstance(answered, ScNumber) else 0
        if amount < left:
            raise _differs(f"The allowance of {token} is {amount}, and the plan needs {left}.")

    async def _session(self, terms: PlanTerms, spec: SessionSpec) -> Installed | None:
        contracts = self._trees.session_contracts()
        account = spec.account
        if await self._kinds.kind_of(account) not in SESSION_KINDS:
            raise _differs("The account is of no known kind.")
        state = await read_guard(self._ledger, contracts.guard, account, terms.policy_id)
        if isinstance(state, SessionMissing):
            return None
        if state.spec_xdr != terms.session_spec:
            raise _differs("The session has another specification.")
        if state.is_closed:
            raise _differs("The session is closed, for ever.")
        called = called_contracts(spec)
        missing = [each for each in called if each not in state.rules]
        if missing or len(state.rules) > len(called):
            raise _differs(f"The rules are not those of the plan: {', '.join(missing)}.")
        ends = [
            await self._rule_end(terms, spec, contract, state.rules[contract])
            for contract in called
        ]
        return Installed(
            ledger=state.as_of_ledger,
            valid_until=terms.window.not_after,
            valid_until_ledger=min(ends),
            rule_ids=tuple(state.rules[each] for each in called),
            guard_id=contracts.guard,
            verifier_id=contracts.verifier,
        )

    async def _rule_end(
        self, terms: PlanTerms, spec: SessionSpec, contract: Address, rule_id: int
    ) -> int:
        """The last ledger of a rule, which is for the one contract, delegate and guard."""
        contracts = self._trees.session_contracts()
        number = ScNumber(ScKind.U32, rule_id)
        try:
            rule = await self._reads.read(terms.owner, spec.account, _RULE, number)
            members = members_in(rule)
            end = number_in(members.get("valid_until"), ScKind.U32)
            signers, policies = items_in(members.get("signers")), items_in(members.get("policies"))
        except (ReadRefused, Malformed):
            raise _differs(f"The rule {rule_id} of the account cannot be read.") from None
        delegate = ScBytes(ScKind.BYTES, spec.delegate)
        signer = ScVec((symbol_of("External"), address_of(contracts.verifier), delegate))
        expected: Sequence[tuple[str, ScValue | tuple[ScValue, ...] | None, object]] = (
            ("context", members.get("context_type"), _call_context(contract)),
            ("signers", signers, (signer,)),
            ("policies", policies, (address_of(contracts.guard),)),
        )
        wrong = [part for part, found, wanted in expected if found != wanted]
        if wrong:
            raise _differs(f"The rule {rule_id} has other {', '.join(wrong)}.")
        return end


def _call_context(contract: Address) -> ScVec:
    return ScVec((symbol_of("CallContract"), address_of(contract)))


def _differs(why: str) -> AutomationRefused:
    return AutomationRefused(ErrorCode.SESSION_MISMATCH, why)
