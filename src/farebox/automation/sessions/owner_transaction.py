"""A whole transaction for a wallet that signs no entries: its source is the owner, who pays."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from farebox.automation.execution.simulate_run import RunSimulator
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.caller import OwnerId
from farebox.stellar.auth_entries import read_entry
from farebox.stellar.fees import FeeOverCeiling, FeePolicy, plan_fees
from farebox.stellar.invocations import Invocation, write_invocation
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import FeeStats
from farebox.stellar.simulation import Simulated
from farebox.stellar.transactions import AuthorizedCall, build_settlement, unsigned_bytes

_SOURCE_ACCOUNT: Final = bytes(4)  # SorobanCredentialsType
_LIFE: Final = timedelta(minutes=10)


class OwnerTransactions:
    """Builds transactions of one network that their owners sign and send."""

    def __init__(
        self,
        simulator: RunSimulator,
        fees: FeePolicy,
        *,
        account_sequence: Callable[[Address], Awaitable[int | None]],
        fee_stats: Callable[[], FeeStats | None],
    ) -> None:
        self._simulator, self._fees = simulator, fees
        self._account_sequence, self._fee_stats = account_sequence, fee_stats

    async def build(
        self, owner: OwnerId, account: Address, tree: Invocation, now: LedgerReading
    ) -> bytes | None:
        """The envelope (XDR) of a call that `account` authorizes as the transaction's source.

        None for a smart account, one that does not exist, or a call that would fail as of now.

        Raises:
            RpcUnavailable: no node answers.
        """
        if not is_account(account):
            return None
        sequence = await self._account_sequence(account)
        if sequence is None:
            return None
        call = AuthorizedCall(tree.call, (read_entry(_SOURCE_ACCOUNT + write_invocation(tree)),))
        simulated = (await self._simulator.simulate(call, owner, source=account)).simulation
        if not isinstance(simulated, Simulated):
            return None
        fee = plan_fees(simulated.resource_fee, self._fee_stats(), self._fees, fee_bumped=False)
        if isinstance(fee, FeeOverCeiling):
            return None
        unsigned = build_settlement(
            call,
            source=account,
            sequence=sequence + 1,
            fee=fee.envelope_fee,
            max_time=int((now.close_at + _LIFE).timestamp()),
            soroban_data=simulated.soroban_data,
        )
        return unsigned_bytes(unsigned)
