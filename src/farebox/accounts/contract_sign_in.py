"""Signing in with a contract account: the network itself says whether the account has signed.

One simulation that enforces the signatures runs the account's own `__check_auth`; nothing is
sent to the ledger. A challenge costs the network nothing, so that asking for them is cheap.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

import structlog

from farebox.accounts.contract_challenge import (
    LIFE_LEDGERS,
    Answered,
    Domain,
    Ground,
    draw,
    read_answer,
)
from farebox.accounts.login import (
    ChallengeNotOpen,
    ContractLoginUnavailable,
    Issued,
    Shown,
    SignatureRefused,
)
from farebox.accounts.sign_in import AccountNotAllowed
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.errors import Outage, Refusal
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading
from farebox.stellar.rpc import LedgerEntries, RawSimulation
from farebox.stellar.simulation import (
    Garbled,
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    read_simulation,
)
from farebox.stellar.splice import simulation_envelope
from farebox.stellar.web_auth import spends_nonce

_LIFE: Final = timedelta(seconds=LIFE_LEDGERS * SLOWEST_CADENCE_S)
_MAX_LAG_LEDGERS: Final = 2
_ASK_AGAIN_S: Final = 5.0  # what is missing on the ledger may be put there any moment
_NOBODY: Final = account_address(bytes(32))  # a simulation needs a source, which need not exist
_SEQUENCE: Final = 1
_AT_ONCE: Final = 4  # an account may make a node work as hard as the network lets anybody
_TURN_S: Final = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Node(Protocol):
    """What is asked of the network."""

    async def simulate(self, envelope: str) -> RawSimulation:
        """Run the envelope without effect, its signatures enforced."""
        ...

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under the keys."""
        ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading:
        """The newest ledger."""
        ...


class Clock(Protocol):
    """The time by which challenges end, and seconds that never go back."""

    def now(self) -> datetime:
        """UTC and aware."""
        ...

    def monotonic(self) -> float:
        """Seconds."""
        ...


class AccountArchived(Refusal):
    """What is asked, the account most likely, has to be restored on the ledger before."""

    def __init__(self) -> None:
        words = "A contract that is asked is archived: restore the account on the network first."
        super().__init__("account_archived", words)


class ContractSignIn:
    """`Login` for the contract accounts (C…) of one network."""

    def __init__(
        self, domain: Domain, ground: Ground, node: Node, ledgers: Ledgers, clock: Clock
    ) -> None:
        self._domain, self._ground = domain, ground
        self._node, self._ledgers, self._clock = node, ledgers, clock
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._is_laid = False
        self._ask_at = clock.monotonic()

    async def issue(self, address: Address) -> Issued:
        """A fresh challenge, signed by the service; the node is not asked, once it all stands.

        Raises:
            ContractLoginUnavailable: the contract or the signing account is not on the ledger.
            AccountNotAllowed: the web-auth contract itself.
            Outage: it is not known where the network is.
        """
        if address == self._ground.contract:
            raise AccountNotAllowed
        reading = self._ledgers.now()
        await self._until_laid()
        drawn = draw(address, self._domain, self._ground, latest_ledger=reading.sequence)
        return Issued(address, drawn.document, drawn.digest, self._clock.now() + _LIFE)

    def read(self, document: str) -> Shown:
        """A stranger's text as a challenge of ours.

        Raises:
            UnreadableChallenge: it is not one.
        """
        answered = read_answer(document, self._domain, self._ground)
        return Shown(answered.account, answered.digest, partial(self._prove, answered))

    async def _prove(self, answered: Answered) -> None:
        """Returns if the account agrees, by the ledger as it is now: one call to the node."""
        now = self._ledgers.now()
        if answered.expires_at_ledger < now.sequence:
            raise ChallengeNotOpen
        envelope = simulation_envelope(answered.signed, source=_NOBODY, sequence=_SEQUENCE)
        answer = await self._simulate(envelope)
        # what an account says while it is asked is nobody's concern here, however much it says
        simulation = read_simulation({**answer.result, "events": []})
        self._judge(simulation, now, answered)

    async def _simulate(self, envelope: str) -> RawSimulation:
        try:
            async with asyncio.timeout(_TURN_S):
                await self._turns.acquire()
        except TimeoutError:
            raise self._outage("too many accounts are asked at once") from None
        try:
            return await self._node.simulate(envelope)
        finally:
            self._turns.release()

    def _judge(self, simulation: Simulation, now: LedgerReading, answered: Answered) -> None:
        if isinstance(simulation, Garbled):
            raise self._outage("its answer cannot be read")
        if simulation.latest_ledger + _MAX_LAG_LEDGERS < now.sequence:
            raise self._outage("its node is behind")
        if isinstance(simulation, Simulated):
            self._demand_spent(simulation, answered)
        elif isinstance(simulation, NeedsRestore) or simulation.kind is RefusalKind.ARCHIVED:
            raise AccountArchived
        elif simulation.latest_ledger < now.sequence:
            raise self._outage("its node is behind")  # what the account lacks may be there by now
        else:
            raise SignatureRefused

    def _demand_spent(self, simulation: Simulated, answered: Answered) -> None:
        """A contract that asks nobody would let everybody in: both must have been asked."""
        entries = answered.signed.entries
        if not all(spends_nonce(simulation.soroban_data, entry) for entry in entries):
            log.error("contract_login.not_a_web_auth_contract", contract=self._ground.contract)
            raise ContractLoginUnavailable

    async def _until_laid(self) -> None:
        """Returns once the contract and our account are on the ledger, which lasts."""
        if self._is_laid:
            return
        if self._clock.monotonic() < self._ask_at:
            raise ContractLoginUnavailable
        keys = {account_key(self._domain.signer.address), instance_key(self._ground.contract)}
        found = await self._node.ledger_entries(sorted(keys))
        self._is_laid = keys <= {entry.key for entry in found.entries}
        if not self._is_laid:
            self._ask_at = self._clock.monotonic() + _ASK_AGAIN_S
            log.warning("contract_login.not_deployed", network=self._ground.network.value)
            raise ContractLoginUnavailable

    def _outage(self, why: str) -> Outage:
        return Outage(self._ground.network.value, f"the network cannot be asked: {why}")
