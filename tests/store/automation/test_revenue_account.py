"""No service starts whose runs would be paid to a channel account of the operator."""

import pytest

from farebox.app.run_payment_services import RevenueAccountCheck, RevenueAccountRefused
from farebox.automation.paymaster import channel_store
from farebox.facilitator.channels import store
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.journal_rows import party
from support.manual_clock import START, ManualClock

OF_SETTLEMENT, OF_AUTOMATION = party(8_001), party(8_002)


async def start(database: Database, clock: ManualClock, network: Network, number: int) -> None:
    async with RevenueAccountCheck(database, clock, {network: party(number)}):
        pass


async def test_channel_of_either_kind_is_refused_on_its_own_network(
    database: Database, clock: ManualClock
) -> None:
    async with database.connection() as db:
        await store.add_channels(db, Network.TESTNET, [(OF_SETTLEMENT, 0)], at=START)
        await channel_store.add_channels(db, Network.TESTNET, [(OF_AUTOMATION, 0)], at=START)
    for number in (8_001, 8_002):
        with pytest.raises(RevenueAccountRefused, match="FAREBOX_REVENUE_ACCOUNT_TESTNET"):
            await start(database, clock, Network.TESTNET, number)
        await start(database, clock, Network.PUBNET, number)
    await start(database, clock, Network.TESTNET, 8_000)
