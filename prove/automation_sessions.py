"""Plans whose session or mandate is on the prepared network; each case runs them on its copy."""

import asyncio
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import msgspec
from stellar_sdk import Keypair, SorobanServer, scval

from farebox.app.vault_services import AutomationSealers
from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.installation import (
    SessionContracts,
    install_session,
    open_mandate,
)
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.limits import LIMITS
from farebox.automation.plans.call_check import CallValue, check_call
from farebox.automation.plans.plan import ContractCallPlan, run_effects
from farebox.automation.plans.plan_rules import read_plan
from farebox.automation.plans.policy_id import compute_policy_id, mandate_address
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.automation.plans.wire import SPECS, PlanKind
from farebox.kernel.addresses import Address
from farebox.local.devnet import Scene
from farebox.stellar.contract_code import find_custom_section
from farebox.stellar.contract_interface import read_interface
from prove.world import NETWORK
from testing.automation_plans import EVERY, DraftedPlan, draft_plan, every_minute
from testing.contracts import deploy_contract, submit
from testing.machine import ROOT
from testing.owner_calls import land_signed
from testing.plan_specs import spending_call
from testing.smart_accounts import Owner, external_signer

RUNS: Final = 2  # of a plan, both due when it starts
SPARE: Final = 6  # uses that the contracts would allow besides: no limit of theirs hides a doubling
FED: Final = 1_000  # base units of the asset, by each run
FEED: Final = "feed"
WASM: Final = ROOT / "contracts" / "wasm"
_GENERATION: Final = "d"  # of the smart account
_LIFE_LEDGERS: Final = 100_000
_SETTING: Final = re.compile(r"^(FAREBOX_\w+_TESTNET)=(C\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstalledPlan:
    """A plan that no database has yet, and what its owner has installed for it."""

    drafted: DraftedPlan
    session: Installed

    def due_now(self) -> DraftedPlan:
        """The plan with every run due."""
        schedule = every_minute(datetime.now(UTC) - EVERY * (RUNS - 1))
        return replace(self.drafted, terms=replace(self.drafted.terms, schedule=schedule))


def read_contracts(printed: str) -> dict[str, str]:
    """The settings that `farebox automation deploy` has printed."""
    return dict(_SETTING.findall(printed))


@dataclass(frozen=True, slots=True)
class Installer:
    """Installs plans that feed a keeper, on the network that a world prepares."""

    rpc_url: str
    scene: Scene
    sender: Keypair  # of every transaction
    keeper: Address
    contracts: SessionContracts
    sealers: AutomationSealers

    async def install(self) -> dict[AuthorityMode, InstalledPlan]:
        """One plan of each mode whose runs a delegate signs."""
        return await asyncio.to_thread(self._install)

    def _install(self) -> dict[AuthorityMode, InstalledPlan]:
        with SorobanServer(self.rpc_url) as server:
            return {
                AuthorityMode.SESSION: self._session(server),
                AuthorityMode.MANDATE: self._mandate(server),
            }

    def _session(self, server: SorobanServer) -> InstalledPlan:
        """A smart account with some of the asset, and the session that its owner installs."""
        contracts, key = self.contracts, Keypair.random()
        wasm = (WASM / f"smart_account_{_GENERATION}.wasm").read_bytes()
        signers = scval.to_vec([external_signer(contracts.verifier, key)])
        account = deploy_contract(server, NETWORK, self.sender, wasm, signers)
        self._give(server, account)
        owner = Owner(account, key, _GENERATION, contracts.verifier)
        drafted, spec = self._draft(AuthorityMode.SESSION, Address(account))
        until = self._last_ledger(server)
        tree = install_session(spec, drafted.terms.policy_id, contracts, valid_until=until)
        ids = land_signed(server, NETWORK, self.sender, tree, owner.sign_entry)
        rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
        session = Installed(
            ledger=until - _LIFE_LEDGERS,
            valid_until=drafted.terms.window.not_after,
            valid_until_ledger=until,
            rule_ids=rules,
            guard_id=contracts.guard,
            verifier_id=contracts.verifier,
        )
        return InstalledPlan(drafted, session)

    def _mandate(self, server: SorobanServer) -> InstalledPlan:
        """The mandate that the first payer of the scene opens."""
        payer, factory = self._payer, self.contracts.factory
        drafted, spec = self._draft(AuthorityMode.MANDATE, Address(payer.public_key))
        mandate = mandate_address(NETWORK, factory, drafted.terms.policy_id)
        until = self._last_ledger(server)
        tree = open_mandate(spec, factory, mandate, live_until=until)
        owner = Owner(payer.public_key, payer)
        land_signed(server, NETWORK, self.sender, tree, owner.sign_entry)
        session = Installed(
            ledger=until - _LIFE_LEDGERS,
            valid_until=drafted.terms.window.not_after,
            valid_until_ledger=until,
            mandate_id=mandate,
        )
        return InstalledPlan(drafted, session)

    @property
    def _payer(self) -> Keypair:
        return Keypair.from_secret(self.scene.payers[0].secret.reveal())

    def _give(self, server: SorobanServer, account: str) -> None:
        payer, amount = self._payer, FED * (RUNS + SPARE)
        arguments = [scval.to_address(payer.public_key), scval.to_address(account)]
        arguments.append(scval.to_int128(amount))
        token = self.scene.asset
        submit(
            server,
            NETWORK,
            payer,
            [payer],
            lambda b: b.append_invoke_contract_function_op(token, "transfer", arguments),
        )

    @staticmethod
    def _last_ledger(server: SorobanServer) -> int:
        return server.get_latest_ledger().sequence + _LIFE_LEDGERS

    def _draft(self, mode: AuthorityMode, account: Address) -> tuple[DraftedPlan, SessionSpec]:
        """A plan that feeds the keeper by each run, and what its session allows."""
        asset = self.scene.asset
        body = spending_call(self.keeper, FEED, asset, asset, FED)
        plan = read_plan(msgspec.convert(body, SPECS[PlanKind.CONTRACT_CALL]), account, LIMITS)
        if not isinstance(plan, ContractCallPlan):
            raise TypeError(plan)
        planned = plan_calls(plan, ResolvedPlan(values=_values(plan)), mode)
        calls = RunCalls(planned, (run_effects(plan, 0),))
        start_at = datetime.now(UTC) - EVERY * (RUNS - 1)
        drafted = draft_plan(
            self.sealers, mode, calls, start_at=start_at, runs=RUNS, account=account
        )
        terms = drafted.terms
        raw = write_spec(
            build_spec(
                plan,
                planned,
                account=account,
                mode=mode,
                delegate=terms.delegate,
                window=terms.window,
                interval_s=1,
                runs=RUNS + SPARE,
            )
        )
        policy_id = compute_policy_id(NETWORK, raw)
        terms = replace(terms, session_spec=raw, policy_id=policy_id)
        payload = msgspec.json.encode(body).decode()
        return replace(drafted, terms=terms, payload=payload), read_spec(raw)


def _values(plan: ContractCallPlan) -> tuple[CallValue, ...]:
    section = find_custom_section((WASM / "keeper.wasm").read_bytes(), "contractspecv0")
    if section is None or plan.function is None:
        raise LookupError("the keeper has no interface")
    return check_call(read_interface(section), plan.function, plan.arguments)
