"""Deploy the web-auth contract (SEP-45) and create the account that signs challenges.

Safe to repeat and to interrupt: entries that are on the ledger already are left as they are.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import CommandRefused, Outage
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.account_operations import create_sponsored
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
from farebox.stellar.signers import SigningAccount
from farebox.stellar.simulation import Simulated, read_simulation
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transactions import SignedTransaction

_SALT: Final = hashlib.sha256(b"farebox web-auth contract").digest()
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
class DeployedContract:
    """The deployed contract."""

    contract: Address
    existed: bool  # the contract, and the signing account if there is one
    live_until_ledger: int | None  # the last one before the contract is archived; None: unknown


def deployed_address(network: Network, payer: Address) -> Address:
    """The address of the contract that this account deploys, before or after it does."""
    return contract_of(network, payer, _SALT)


class WebAuthDeployment:
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
        self._network, self._source = network, source
        self._node, self._sender, self._clock, self._report = node, sender, clock, report

    async def deploy(self, signer: SigningAccount | None) -> DeployedContract:
        """Deploy the contract and create the account that signs challenges, where missing.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the node is unavailable; completed steps stay.
        """
        wasm = (files("farebox.accounts") / "web_auth.wasm").read_bytes()
        code, payer = hashlib.sha256(wasm).digest(), self._source.address
        contract = deployed_address(self._network, payer)
        instance = instance_key(contract)
        steps = [
            (instance, code_key(code), "upload the code", upload_code(wasm)),
            (instance, instance, "create the contract", create_contract(payer, code, _SALT)),
        ]
        existed = True
        for unneeded_with, key, action, call in steps:
            if not await self._exists(unneeded_with) and not await self._exists(key):
                existed = False
                await self._call(call, action)
                await self._wait_for(key)
        if signer is not None and not await self._exists(account_key(signer.address)):
            existed = False
            await self._create(signer)
        return DeployedContract(contract, existed, await self._live_until(instance))

    async def _call(self, call: HostCall, action: str) -> None:
        self._report(action)
        response = await self._node.simulate(dry_run(call, self._source.address))
        simulated = read_simulation({**response.result, "events": []})  # not needed
        if not isinstance(simulated, Simulated):
            raise DeployRefused(f"The network refuses to {action}; nothing was sent.")

        def make(parameters: TransactionParameters) -> SignedTransaction:
            return sign_call(
                self._network,
                self._source,
                call,
                sequence=parameters.sequence,
                fee=parameters.inclusion_fee + simulated.resource_fee,
                max_time=parameters.max_time,
                soroban_data=simulated.soroban_data,
            )

        await self._sender.land(self._source.address, make, action=action)

    async def _create(self, signer: SigningAccount) -> None:
        action = "create the account that signs challenges"
        self._report(action)

        def make(parameters: TransactionParameters) -> SignedTransaction:
            return create_sponsored(
                self._network,
                self._source,
                [signer],
                sequence=parameters.sequence,
                inclusion_fee=parameters.inclusion_fee,
                max_time=parameters.max_time,
            )

        await self._sender.land(self._source.address, make, action=action)
        await self._wait_for(account_key(signer.address))

    async def _exists(self, key: bytes) -> bool:
        result = await self._node.ledger_entries([key])
        return any(entry.key == key for entry in result.entries)

    async def _wait_for(self, key: bytes) -> None:
        deadline = self._clock.monotonic() + _VISIBLE_WITHIN_S
        while not await self._exists(key):
            if self._clock.monotonic() > deadline:
                words = (
                    "a transaction succeeded but its effect is not visible yet: repeat the command"
                )
                raise Outage(self._network.value, words)
            await self._clock.sleep(_POLL_S)

    async def _live_until(self, key: bytes) -> int | None:
        result = await self._node.ledger_entries([key])
        return next((each.live_until_ledger for each in result.entries if each.key == key), None)
