"""Put on a network what contract accounts need to sign in: our contract, and our signing account.

Safe to repeat and to interrupt: what is there already is found there and left as it is.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage, Refusal
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
from farebox.stellar.rpc import LedgerEntries, RawSimulation
from farebox.stellar.signers import Relayer
from farebox.stellar.simulation import Simulated, read_simulation
from farebox.stellar.splice import SignedTransaction

_SALT: Final = hashlib.sha256(b"farebox web-auth contract").digest()
_SHOWN_WITHIN_S: Final = 10.0  # until a node behind one address shows what another one told
_LOOK_AGAIN_S: Final = 0.5


class DeployRefused(Refusal):
    """The network does not take it, for a reason that stays."""

    def __init__(self, words: str) -> None:
        super().__init__("deploy_refused", words)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a transaction made now has to carry."""

    sequence: int
    max_time: int  # Unix seconds
    bid: int  # stroops an operation


class Node(Protocol):
    """What is asked of the network."""

    async def simulate(self, envelope: str) -> RawSimulation:
        """Run the envelope without effect."""
        ...

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under the keys."""
        ...


class Sender(Protocol):
    """Brings transactions of one account to the ledger."""

    async def land(
        self, source: Address, make: Callable[[Turn], SignedTransaction], *, doing: str
    ) -> None:
        """It took effect; `make` may be called again where another one was faster.

        Raises:
            Refusal: it did not, and will not.
            Outage: nothing was sent.
        """
        ...


@dataclass(frozen=True, slots=True)
class Deployed:
    """What is on the ledger now."""

    contract: Address
    was_there: bool  # the contract, and the signing account if there is one
    live_until_ledger: int | None  # the last one before the contract is archived, if that is told


def contract_from(network: Network, payer: Address) -> Address:
    """Where the contract is, or will be, that this account deploys."""
    return contract_of(network, payer, _SALT)


class WebAuthDeployment:
    """One network, and the account that pays there; `tell` is told each step."""

    def __init__(
        self,
        network: Network,
        source: Relayer,
        node: Node,
        sender: Sender,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._network, self._source = network, source
        self._node, self._sender, self._clock, self._tell = node, sender, clock, tell

    async def deploy(self, signer: Relayer | None) -> Deployed:
        """The contract is on the ledger, and so is the account that signs challenges.

        Raises:
            Refusal: the network does not take a transaction.
            Outage: the node is away; what was done stays.
        """
        wasm = (files("farebox.accounts") / "web_auth.wasm").read_bytes()
        code, payer = hashlib.sha256(wasm).digest(), self._source.address
        contract = contract_from(self._network, payer)
        place = instance_key(contract)
        steps = [
            (place, code_key(code), "put the code there", upload_code(wasm)),
            (place, place, "create the contract", create_contract(payer, code, _SALT)),
        ]
        was_there = True
        for needless_with, key, doing, call in steps:
            if not await self._is_there(needless_with) and not await self._is_there(key):
                was_there = False
                await self._call(call, doing)
                await self._until_there(key)
        if signer is not None and not await self._is_there(account_key(signer.address)):
            was_there = False
            await self._create(signer)
        return Deployed(contract, was_there, await self._live_until(place))

    async def _call(self, call: HostCall, doing: str) -> None:
        self._tell(doing)
        answer = await self._node.simulate(dry_run(call, self._source.address))
        simulated = read_simulation({**answer.result, "events": []})  # none is of interest
        if not isinstance(simulated, Simulated):
            raise DeployRefused(f"The network would not {doing}; nothing was sent.")

        def make(turn: Turn) -> SignedTransaction:
            return sign_call(
                self._network,
                self._source,
                call,
                sequence=turn.sequence,
                fee=turn.bid + simulated.resource_fee,
                max_time=turn.max_time,
                soroban_data=simulated.soroban_data,
            )

        await self._sender.land(self._source.address, make, doing=doing)

    async def _create(self, signer: Relayer) -> None:
        doing = "create the account that signs challenges"
        self._tell(doing)

        def make(turn: Turn) -> SignedTransaction:
            return create_sponsored(
                self._network,
                self._source,
                [signer],
                sequence=turn.sequence,
                bid=turn.bid,
                max_time=turn.max_time,
            )

        await self._sender.land(self._source.address, make, doing=doing)
        await self._until_there(account_key(signer.address))

    async def _is_there(self, key: bytes) -> bool:
        found = await self._node.ledger_entries([key])
        return any(entry.key == key for entry in found.entries)

    async def _until_there(self, key: bytes) -> None:
        until = self._clock.monotonic() + _SHOWN_WITHIN_S
        while not await self._is_there(key):
            if self._clock.monotonic() > until:
                words = "a transaction succeeded that the node does not show yet: repeat this"
                raise Outage(self._network.value, words)
            await self._clock.sleep(_LOOK_AGAIN_S)

    async def _live_until(self, key: bytes) -> int | None:
        found = await self._node.ledger_entries([key])
        return next((each.live_until_ledger for each in found.entries if each.key == key), None)
