"""The contracts of a network that sessions and mandates need, held against their pinned code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import structlog

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import Venue
from farebox.automation.refusal import spec_mismatch
from farebox.automation.sessions.contract_codes import ServiceContract, pinned_hash
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.contract_instance import (
    WasmCode,
    instance_key,
    read_contract_code,
    read_instance_storage,
)
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from farebox.stellar.scval import ScBytes, ScKind
from farebox.stellar.scval_writer import symbol_of

NEEDED: Final[Mapping[AuthorityMode, tuple[ServiceContract, ...]]] = MappingProxyType(
    {
        AuthorityMode.SESSION: (
            ServiceContract.GUARD,
            ServiceContract.VERIFIER,
            ServiceContract.INSTALLER,
        ),
        AuthorityMode.MANDATE: (ServiceContract.FACTORY,),
        AuthorityMode.PRESIGNED: (),
        AuthorityMode.OPEN: (),
    }
)
DIFFERS: Final = "automation_contract_differs"  # other code than the pinned one, or none at all
_AGAIN_S: Final = 5.0  # after an outage, and while a contract differs: it may be deployed soon
_REFRESH_S: Final = 600.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AutomationContracts:
    """The contracts that the operator has named for a network, and the routers of its venues."""

    contracts: Mapping[ServiceContract, Address] = field(default_factory=dict)
    routers: Mapping[Venue, Address] = field(default_factory=dict)


class ContractsWatch:
    """Reads the contracts' code from the ledger; a mode is available while all of its fit."""

    def __init__(
        self, network: Network, named: AutomationContracts, ledger: EntryReader, clock: Clock
    ) -> None:
        self._network, self.named = network, named
        self._ledger, self._clock = ledger, clock
        self._fitting: frozenset[ServiceContract] | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The code of a warning where a named contract has other code than the pinned one."""
        differs = self._fitting is not None and set(self.named.contracts) - self._fitting
        return (DIFFERS,) if differs else ()

    @property
    def modes(self) -> tuple[AuthorityMode, ...]:
        """The modes that are available now."""
        there = self._fitting or frozenset()
        return tuple(mode for mode, needed in NEEDED.items() if there.issuperset(needed))

    def check_mode(self, mode: AuthorityMode) -> None:
        """Check that a plan of this mode can be made on the network.

        Raises:
            AutomationRefused: `spec_mismatch`.
        """
        if mode not in self.modes:
            why = f"The contracts that a {mode} needs are not available on {self._network}."
            raise spec_mismatch("authorityMode", why)

    def address(self, contract: ServiceContract) -> Address:
        """Where a contract is; the mode that needs it is available.

        Raises:
            AutomationRefused: `spec_mismatch`: the operator has named none.
        """
        found = self.named.contracts.get(contract)
        if found is None:
            why = f"The operator has named no {contract} on {self._network}."
            raise spec_mismatch("authorityMode", why)
        return found

    async def run(self) -> None:
        """Check at start and every ten minutes, and soon again while it is not as it should be."""
        while True:
            is_read = await self.check()
            await self._clock.sleep(_REFRESH_S if is_read and not self.warnings else _AGAIN_S)

    async def check(self) -> bool:
        """Read every named contract; False where no node answers, and then nothing changes."""
        keys = {each: instance_key(at) for each, at in self.named.contracts.items()}
        try:
            found = await self._ledger.ledger_entries([*keys.values()]) if keys else None
        except RpcUnavailable:
            return False
        fitting = frozenset(each for each in keys if found is not None and self._fits(each, found))
        differing = set(keys) - fitting
        for each in differing if fitting != self._fitting else ():
            log.error(
                "automation.contract_differs", network=self._network.value, contract=each.value
            )
        self._fitting = fitting
        return True

    def _fits(self, contract: ServiceContract, found: LedgerEntries) -> bool:
        """Whether it has the pinned code; a factory makes mandates of the pinned code too."""
        address = self.named.contracts[contract]
        key = instance_key(address)
        data = next((each.data for each in found.entries if each.key == key), b"")
        if read_contract_code(data, address) != WasmCode(pinned_hash(contract)):
            return False
        if contract is not ServiceContract.FACTORY:
            return True
        storage = read_instance_storage(data, address)
        made = ScBytes(ScKind.BYTES, pinned_hash(ServiceContract.MANDATE))
        return storage is not None and (symbol_of("code"), made) in (storage.entries or ())
