"""Settlements through channel accounts: many at once, one envelope each, paid by the relayer."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from farebox.facilitator.channels.channel import channel_signer
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import SigningAccount, read_signers
from support.asgi import AsgiClient
from support.stage import Stage, environment_for, service, until_ready
from support.stage_fixtures import Networks

CHANNELS = 4


def relayer_of(stage: Stage) -> SigningAccount:
    return read_signers(Secret(stage.relayer().secret), None).relayer


@pytest.fixture(scope="session")
async def channel_accounts(stage_networks: Networks) -> list[SigningAccount]:
    """Four accounts on the ledger whose keys follow from the relayer's."""
    network = stage_networks[Network.TESTNET]
    relayer = read_signers(Secret(network.relayer.secret), None).relayer
    signers = [channel_signer(relayer, Network.TESTNET, index) for index in range(CHANNELS)]
    await asyncio.gather(*(network.ledger.fund(signer.address) for signer in signers))
    return signers


@pytest.fixture(scope="module")
async def pooled_client(
    stage_client: AsgiClient,
    stage_networks: Networks,
    stage_database: str,
    channel_accounts: list[SigningAccount],
) -> AsyncIterator[AsgiClient]:
    """A service whose testnet has four channels, which all services have meanwhile."""
    db = await asyncpg.connect(stage_database)
    await db.executemany(
        "INSERT INTO channels (network, address, derivation_index, created_at)"
        " VALUES ('stellar:testnet', $1, $2, $3)",
        [(each.address, index, datetime.now(UTC)) for index, each in enumerate(channel_accounts)],
    )
    try:
        async with service(environment_for(stage_networks, stage_database)) as client:
            yield client
    finally:
        await db.execute("DELETE FROM settlements")
        await db.execute("DELETE FROM channels")
        await db.close()


@pytest.fixture
async def pooled(stage: Stage, pooled_client: AsgiClient) -> Stage:
    """That service, with an empty journal."""
    await until_ready(pooled_client)
    return Stage(pooled_client, stage.networks, stage.environment)


async def test_concurrent_payments_share_ledgers_and_relayer_pays_fees(pooled: Stage) -> None:
    drafts = [await pooled.draft(timeout_s=900) for _ in range(3 * CHANNELS)]
    channels = [
        channel_signer(relayer_of(pooled), Network.TESTNET, index).address
        for index in range(CHANNELS)
    ]
    before = [await pooled.ledger().native_balance(channel) for channel in channels]
    outcomes = await asyncio.gather(*(pooled.settle(draft.request()) for draft in drafts))
    assert [outcome["success"] for outcome in outcomes] == [True] * len(drafts), outcomes
    rows = await pooled.query("SELECT ledger, source FROM settlements")
    by_ledger: dict[int, set[str]] = {}
    for row in rows:
        by_ledger.setdefault(row["ledger"], set()).add(row["source"])
    assert max(len(sources) for sources in by_ledger.values()) > 1
    assert {row["source"] for row in rows} == set(channels)
    assert [await pooled.ledger().native_balance(each) for each in channels] == before


async def test_settlement_is_found_by_inner_and_outer_hash(pooled: Stage) -> None:
    draft = await pooled.draft(timeout_s=900)
    tx_hash = await pooled.assert_settles(draft.request())
    row = (await pooled.query("SELECT inner_hash, state FROM settlements"))[0]
    inner = await pooled.ledger().found(row["inner_hash"].hex())
    assert (inner["status"], row["state"]) == ("SUCCESS", "confirmed")
    assert row["inner_hash"].hex() != tx_hash


async def test_channels_are_listed_as_signers_and_refused_as_parties(pooled: Stage) -> None:
    channel = channel_signer(relayer_of(pooled), Network.TESTNET, 0).address
    supported = (await pooled.client.get("/supported")).json()
    assert channel in supported["signers"]["stellar:*"]
    draft = await pooled.draft(timeout_s=900, pay_to=channel)
    verdict = await pooled.verify(draft.request())
    assert verdict["isValid"] is False


async def test_two_replicas_share_channels(pooled: Stage) -> None:
    drafts = [await pooled.draft(timeout_s=900) for _ in range(2 * CHANNELS)]
    async with service(pooled.environment) as client:
        both = [pooled, Stage(client, pooled.networks, pooled.environment)] * CHANNELS
        outcomes = await asyncio.gather(
            *(each.settle(draft.request()) for each, draft in zip(both, drafts, strict=True))
        )
    assert [outcome["success"] for outcome in outcomes] == [True] * len(drafts), outcomes
