"""Puts code and contracts on a ledger from an account that pays.

Safe to repeat and to interrupt: entries that are on the ledger already are left as they are.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import CommandRefused, Outage
from farebox.kernel.networks import Network
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.contract_operations import (
    HostCall,
    code_key,
    contract_of,
    create_contract,
    dry_run,
    sign_call,
    upload_code,
)
from farebox.stellar.scval import ScValue
from farebox.stellar.signers import SigningAccount
from farebox.stellar.simulation import Simulated, read_simulation
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transactions import SignedTransaction

_VISIBLE_WITHIN_S: Final = 10.0  # the nodes behind one address may differ for a while
_POLL_S: Final = 0.5


class DeployRefused(CommandRefused):
    """The network refuses a transaction, for a permanent reason."""

    def __init__(self, words: str) -> None:
        super().__init__(words)


@dataclass(frozen=True, slots=True)
class TransactionParameters:
    """The sequence number, time bound and inclusion fee of a transaction."""

    sequence: int
    max_time: int  # Unix seconds
    inclusion_fee: int  # stroops an operation


class Sender(Protocol):
    """Sends transactions of one account and waits until they are on the ledger."""

    async def land(
        self,
        source: Address,
        make: Callable[[TransactionParameters], SignedTransaction],
        *,
        action: str,
    ) -> None:
        """Send the transaction; `make` is called again when its sequence number was taken.

        Raises:
            Refusal: the network refuses it.
            Outage: nothing was sent.
        """
        ...


@dataclass(frozen=True, slots=True)
class ContractDraft:
    """A contract to deploy: its name for people, its code, its salt (32 bytes), its arguments."""

    name: str
    wasm: bytes
    salt: bytes
    arguments: tuple[ScValue, ...] = ()


class ContractDeployment:
    """Deploys on one network from the account that pays; `report` gets a line for each step."""

    def __init__(
        self,
        network: Network,
        source: SigningAccount,
        node: SorobanRpc,
        sender: Sender,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self.network, self.source, self.sender = network, source, sender
        self.report = report
        self._node, self._clock = node, clock

    async def upload(self, wasm: bytes, name: str) -> bool:
        """Upload code where it is missing; whether it was.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the node is unavailable.
        """
        key = code_key(hashlib.sha256(wasm).digest())
        if await self.exists(key):
            return False
        await self.call(upload_code(wasm), f"upload the code of the {name}")
        await self.wait_for(key)
        return True

    async def create(self, draft: ContractDraft) -> tuple[Address, bool]:
        """Create a contract and upload its code where they are missing; whether it was missing.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the node is unavailable; completed steps stay.
        """
        payer, code = self.source.address, hashlib.sha256(draft.wasm).digest()
        contract = contract_of(self.network, payer, draft.salt)
        if await self.exists(instance_key(contract)):
            return contract, False
        await self.upload(draft.wasm, draft.name)
        created = create_contract(payer, code, draft.salt, draft.arguments)
        await self.call(created, f"create the {draft.name}")
        await self.wait_for(instance_key(contract))
        return contract, True

    async def exists(self, key: bytes) -> bool:
        """Whether an entry is on the ledger."""
        result = await self._node.ledger_entries([key])
        return any(entry.key == key for entry in result.entries)

    async def wait_for(self, key: bytes) -> None:
        """Wait until a node shows an entry that was written.

        Raises:
            Outage: none shows it in time.
        """
        deadline = self._clock.monotonic() + _VISIBLE_WITHIN_S
        while not await self.exists(key):
            if self._clock.monotonic() > deadline:
                words = (
                    "a transaction succeeded but its effect is not visible yet: repeat the command"
                )
                raise Outage(self.network.value, words)
            await self._clock.sleep(_POLL_S)

    async def live_until(self, key: bytes) -> int | None:
        """The last ledger of an entry before it is archived; None: unknown."""
        result = await self._node.ledger_entries([key])
        return next((each.live_until_ledger for each in result.entries if each.key == key), None)

    async def call(self, call: HostCall, action: str) -> None:
        """Land a call that the payer authorizes; `action` is a verb phrase for a refusal.

        Raises:
            Refusal: the network refuses it.
            Outage: the node is unavailable.
        """
        self.report(action)
        response = await self._node.simulate(dry_run(call, self.source.address))
        simulated = read_simulation({**response.result, "events": []})  # not needed
        if not isinstance(simulated, Simulated):
            raise DeployRefused(f"The network refuses to {action}; nothing was sent.")

        def make(parameters: TransactionParameters) -> SignedTransaction:
            return sign_call(
                self.network,
                self.source,
                call,
                sequence=parameters.sequence,
                fee=parameters.inclusion_fee + simulated.resource_fee,
                max_time=parameters.max_time,
                soroban_data=simulated.soroban_data,
            )

        await self.sender.land(self.source.address, make, action=action)
