"""The mean fee of the newest payments, refreshed in the background."""

import pytest

from farebox.facilitator.budgets.mean_fees import MeanFees
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.journal_rows import Paid, insert_settlement
from support.manual_clock import ManualClock


async def pay(database: Database, fee: int | None, paid: Paid) -> None:
    """Insert a settlement that was charged this fee."""
    identity = await insert_settlement(database, paid)
    async with database.connection() as db:
        await db.execute(
            "UPDATE settlements SET fee_charged = $1 WHERE nonce = $2", fee, identity.nonce
        )


async def test_mean_fee_is_that_of_confirmed_payments_of_each_network(database: Database) -> None:
    fees = MeanFees(database, ManualClock(), tuple(Network))
    await fees.refresh()
    assert [fees.of(each) for each in Network] == [None, None]
    for fee in (20_000, 30_000, None):
        await pay(database, fee, Paid())
    await pay(database, 7, Paid(state="submitted"))
    await fees.refresh()
    assert [fees.of(each) for each in Network] == [25_000, None]


async def test_mean_fee_is_none_until_the_database_has_answered() -> None:
    async with Database(Secret("postgresql://127.0.0.1:9/none")) as away:
        fees = MeanFees(away, ManualClock(), tuple(Network))
        with pytest.raises(DatabaseUnavailable):
            await fees.refresh()
        assert fees.of(Network.TESTNET) is None
