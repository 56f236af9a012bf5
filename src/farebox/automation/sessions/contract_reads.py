"""Functions of contracts that change nothing, read by a simulation for the owner of a plan."""

from typing import Final

from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.runs.classify_error import ContractRole, ErrorNumbers, classify_simulation
from farebox.automation.runs.retries import ErrorClass
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScKind, ScValue
from farebox.stellar.scval_reader import number_in
from farebox.stellar.scval_writer import address_of
from farebox.stellar.simulation import Simulated
from farebox.stellar.transactions import AuthorizedCall
from farebox.stellar.xdr_reader import Malformed

_NUMBERS: Final = ErrorNumbers((ContractRole.TOKEN, ContractRole.SOROSWAP))


class ReadRefused(Exception):
    """A contract gave no answer that counts; `code` names what was asked."""

    def __init__(self, error: ErrorClass, code: str) -> None:
        super().__init__(code)
        self.error, self.code = error, code


class ContractReads:
    """Reads contracts; the simulations count as the owner's."""

    def __init__(self, simulator: RunSimulator) -> None:
        self._simulator = simulator

    async def read(
        self, owner: OwnerId, contract: Address, function: str, *arguments: ScValue
    ) -> ScValue:
        """Call a function and return its value.

        Raises:
            ReadRefused: the call fails, or returns nothing of a known form.
            RpcUnavailable: no node answers.
        """
        call = AuthorizedCall(Invocation(contract, function, arguments).call, ())
        simulated = await self._simulator.simulate(call, owner)
        if not isinstance(simulated.simulation, Simulated):
            error = classify_simulation(simulated.simulation, _NUMBERS)
            raise ReadRefused(error, f"{function}_failed")
        if simulated.returned is None:
            raise ReadRefused(ErrorClass.PROGRAM, f"{function}_unreadable")
        return simulated.returned

    async def balance(self, owner: OwnerId, token: Address, holder: Address) -> int:
        """A balance in base units; raises as `read`."""
        return as_number(
            await self.read(owner, token, "balance", address_of(holder)), ScKind.I128, "balance"
        )

    async def decimals(self, owner: OwnerId, token: Address) -> int:
        """The decimals of a token; raises as `read`."""
        return as_number(await self.read(owner, token, "decimals"), ScKind.U32, "decimals")


def as_number(value: ScValue, kind: ScKind, function: str) -> int:
    """The number that a function returned.

    Raises:
        ReadRefused: it is none.
    """
    try:
        return number_in(value, kind)
    except Malformed:
        raise ReadRefused(ErrorClass.PROGRAM, f"{function}_unreadable") from None
