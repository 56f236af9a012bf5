"""SEP-45: prove control of a contract account (C…) with a signed challenge.

A simulation in enforcing mode runs the account's `__check_auth`; no transaction is sent. Issuing a
challenge makes no call to the network.
"""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from farebox.accounts.contract_challenge import (
    LIFE_LEDGERS,
    SignedContractChallenge,
    WebAuthContract,
    WebAuthDomain,
    build_contract_challenge,
    read_contract_challenge,
)
from farebox.accounts.sign_in import AccountNotAllowed
from farebox.accounts.web_auth_scheme import (
    ChallengeNotOpen,
    ContractSignInUnavailable,
    IssuedChallenge,
    ReturnedChallenge,
    SignatureRefused,
)
from farebox.kernel.addresses import ZERO_ACCOUNT, Address
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage, Refusal
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading, Ledgers
from farebox.stellar.rpc import RawSimulation
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    UnreadableSimulation,
    read_simulation,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transactions import simulation_envelope
from farebox.stellar.web_auth import spends_nonce

_LIFE: Final = timedelta(seconds=LIFE_LEDGERS * SLOWEST_CADENCE_S)
_MAX_LAG_LEDGERS: Final = 2
_RECHECK_S: Final = 5.0  # for a contract that is not deployed yet
_SEQUENCE: Final = 1
_CONCURRENT_SIMULATIONS: Final = 4  # an account's code may use the network's full limits
_SIMULATION_WAIT_S: Final = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class AccountArchived(Refusal):
    """A contract, most likely the account, is archived and must be restored."""

    def __init__(self) -> None:
        words = "A contract of the sign-in is archived: restore the account on the network first."
        super().__init__(ErrorCode.ACCOUNT_ARCHIVED, words)


class ContractWebAuth:
    """The `WebAuthScheme` of the contract accounts of one network."""

    def __init__(
        self,
        domain: WebAuthDomain,
        contract: WebAuthContract,
        node: SorobanRpc,
        ledgers: Ledgers,
        clock: Clock,
    ) -> None:
        self._domain, self._contract = domain, contract
        self._node, self._ledgers, self._clock = node, ledgers, clock
        self._simulations = asyncio.Semaphore(_CONCURRENT_SIMULATIONS)
        self._is_deployed = False
        self._recheck_at = clock.monotonic()

    async def issue(self, address: Address) -> IssuedChallenge:
        """Issue a challenge; the node is called only until the contract is known to be deployed.

        Raises:
            ContractSignInUnavailable: the contract or the signing account is not on the ledger.
            AccountNotAllowed: the address is the web-auth contract itself.
            Outage: the latest ledger is not known.
        """
        if address == self._contract.address:
            raise AccountNotAllowed
        reading = self._ledgers.now()
        await self._check_deployed()
        challenge = build_contract_challenge(
            address, self._domain, self._contract, latest_ledger=reading.sequence
        )
        expires_at = self._clock.now() + _LIFE
        return IssuedChallenge(address, challenge.document, challenge.digest, expires_at)

    def read(self, document: str) -> ReturnedChallenge:
        """Read a challenge of the service from untrusted text.

        Raises:
            UnreadableChallenge: it is not one.
        """
        challenge = read_contract_challenge(document, self._domain, self._contract)
        return ReturnedChallenge(
            challenge.account, challenge.digest, partial(self._verify, challenge)
        )

    async def _verify(self, challenge: SignedContractChallenge) -> bool:
        """Simulate the call against the current ledger: one call to the node."""
        now = self._ledgers.now()
        if challenge.expires_at_ledger < now.sequence:
            raise ChallengeNotOpen
        envelope = simulation_envelope(challenge.signed, source=ZERO_ACCOUNT, sequence=_SEQUENCE)
        response = await self._simulate(envelope)
        # the account's code may emit any number of events; they are not needed
        simulation = read_simulation({**response.result, "events": []})
        self._judge(simulation, now, challenge)
        return True  # its code ran, so the account is on the ledger

    async def _simulate(self, envelope: str) -> RawSimulation:
        try:
            async with asyncio.timeout(_SIMULATION_WAIT_S):
                await self._simulations.acquire()
        except TimeoutError:
            raise self._outage("too many simulations of sign-ins are running") from None
        try:
            return await self._node.simulate(envelope)
        finally:
            self._simulations.release()

    def _judge(
        self, simulation: Simulation, now: LedgerReading, challenge: SignedContractChallenge
    ) -> None:
        if isinstance(simulation, UnreadableSimulation):
            raise self._outage("the response of its node cannot be read")
        if simulation.latest_ledger + _MAX_LAG_LEDGERS < now.sequence:
            raise self._outage("its node is behind")
        if isinstance(simulation, Simulated):
            self._require_nonces_spent(simulation, challenge)
        elif isinstance(simulation, NeedsRestore) or simulation.kind is RefusalKind.ARCHIVED:
            raise AccountArchived
        elif simulation.latest_ledger < now.sequence:
            raise self._outage("its node is behind")  # the newest ledger may have the missing entry
        else:
            raise SignatureRefused

    def _require_nonces_spent(
        self, simulation: Simulated, challenge: SignedContractChallenge
    ) -> None:
        """Both entries must have been checked: a wrong contract may require no authorization."""
        entries = challenge.signed.entries
        if not all(spends_nonce(simulation.soroban_data, entry) for entry in entries):
            log.error("contract_login.not_a_web_auth_contract", contract=self._contract.address)
            raise ContractSignInUnavailable

    async def _check_deployed(self) -> None:
        """Check once that the contract and the signing account are on the ledger."""
        if self._is_deployed:
            return
        if self._clock.monotonic() < self._recheck_at:
            raise ContractSignInUnavailable
        keys = {account_key(self._domain.signer.address), instance_key(self._contract.address)}
        result = await self._node.ledger_entries(sorted(keys))
        self._is_deployed = keys <= {entry.key for entry in result.entries}
        if not self._is_deployed:
            self._recheck_at = self._clock.monotonic() + _RECHECK_S
            log.warning("contract_login.not_deployed", network=self._contract.network.value)
            raise ContractSignInUnavailable

    def _outage(self, reason: str) -> Outage:
        return Outage(self._contract.network.value, f"the network is unavailable: {reason}")
