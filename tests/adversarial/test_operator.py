"""Cases 1.5 and 1.6: attempts to use the operator's account and to raise its fees."""

import base64
from typing import Any, Final

import pytest
from stellar_sdk import Asset, Keypair, MuxedAccount, TransactionEnvelope, scval, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support import payment_rules as rules
from support.accounts import ContractAccount, ContractToken, entry_signed_as
from support.envelopes import text_memo, time_bounds
from support.promises import case, promise
from support.sdk_ledger_keys import resource_data
from support.stage import Stage, key_of, own_relayer, service
from testing.entries import Credentials
from testing.waiting import until

STRANGER: Final = Keypair.random().public_key
CEILING: Final = 500_000
MAX_UINT32: Final = 2**32 - 1
MAX_INT64: Final = 2**63 - 1


@case("PV-086")
@pytest.mark.parametrize("is_muxed", [False, True])
@pytest.mark.parametrize("place", ["transaction", "operation"])
def test_facilitator_as_source_is_unsafe(place: str, is_muxed: bool) -> None:
    draft = rules.draft()
    relayer = rules.RELAYER.public_key
    source = MuxedAccount(relayer, 7).account_muxed if is_muxed else relayer
    assert source is not None
    if place == "transaction":
        raw = draft.around([draft.operation()], source=source)
    else:
        raw = draft.around([draft.operation(source=source)])
    rules.assert_refused(draft.request(raw), Reason.UNSAFE_SOURCE)


@case("PV-088")
def test_facilitator_as_payer_is_refused() -> None:
    relayer = rules.RELAYER
    draft = rules.draft(payer=relayer.public_key, signers=(relayer,))
    rules.assert_refused(draft.request(), Reason.FACILITATOR_IS_PAYER)


@case("PV-090")
@promise("facilitator:non-custodial")
def test_facilitator_as_recipient_is_refused() -> None:
    draft = rules.draft(pay_to=rules.RELAYER.public_key)
    rules.assert_refused(draft.request(), Reason.FACILITATOR_IS_RECIPIENT)


@case("PV-091")
@pytest.mark.parametrize("place", ["transaction", "operation"])
async def test_foreign_source_account_is_dropped(stage: Stage, place: str) -> None:
    draft = await stage.draft()
    source = STRANGER if place == "operation" else None
    tx_source = {"source": STRANGER} if place == "transaction" else {}
    raw = draft.around([draft.operation(source=source)], **tx_source)
    await stage.assert_settles(draft.request(raw))
    sent = _only_sent(stage)
    assert sent.operations[0].source_account is None
    assert _source(sent) == stage.relayer().public_key


@case("PV-093", "PV-113", "PV-116")
@promise(
    "payload:entries-verbatim", "payload:only-entries-are-signed", "settle:signs-as-the-operator",
    "facilitator:callers-need-no-network",
)  # fmt: skip
@pytest.mark.parametrize(
    ("network", "kind", "bounds"),
    [
        (Network.TESTNET, Credentials.ADDRESS, (0, 1)),
        (Network.TESTNET, Credentials.ADDRESS_V2, (1, 0)),
        (Network.PUBNET, Credentials.ADDRESS, (1, 0)),
        (Network.PUBNET, Credentials.ADDRESS_V2, (2**62, 0)),
    ],
)
async def test_submitted_envelope_holds_only_the_call_of_the_client(
    stage: Stage, network: Network, kind: Credentials, bounds: tuple[int, int]
) -> None:
    draft = await stage.draft(network, kind=kind)
    raw = draft.around(
        [draft.operation()],
        fee=MAX_UINT32,
        sequence=MAX_INT64,
        memo=text_memo(b"remember me"),
        conditions=time_bounds(*bounds),
        resources=resource_data(sizes=(0, 0, 0), fee=10_000_000),
    )
    await stage.assert_settles(draft.request(raw))
    sent = _only_sent(stage, network)
    assert [op.to_xdr_bytes() for op in sent.operations] == [draft.operation().to_xdr_bytes()]
    assert _source(sent) == stage.relayer(network).public_key
    assert sent.memo.type == xdr.MemoType.MEMO_NONE
    assert sent.seq_num.sequence_number.int64 != MAX_INT64
    assert sent.cond.time_bounds is not None
    assert sent.cond.time_bounds.max_time.time_point.uint64 > 0


@case("PV-094")
@promise("log:no-payment-signatures", "log:no-authorization-xdr")
async def test_signed_envelope_is_not_in_responses_or_logs(log_text: Any, hasty: Stage) -> None:
    draft = await hasty.draft()
    hasty.node().on("sendTransaction", node_proxy.refused("no room for it today"))
    outcome = await hasty.client.post("/settle", draft.request())
    (envelope,) = {call.params["transaction"] for call in _sent(hasty)}
    seen = outcome.body.decode() + log_text()
    read = xdr.TransactionEnvelope.from_xdr(envelope)
    assert read.v1 is not None
    ours = read.v1.signatures[0].signature.signature
    (entry,) = _entries(read.v1.tx)
    for planted in (envelope.encode(), ours, entry.to_xdr_bytes(), draft.entry().to_xdr_bytes()):
        for text in (planted.hex(), base64.b64encode(planted).decode()):
            assert text not in seen
    assert envelope[-60:] not in seen


@case("PV-095", "PV-096", "PV-103")
@pytest.mark.parametrize("fee", [0, 100, MAX_UINT32])
@pytest.mark.parametrize("resource_fee", [None, 0, 10_000_000, MAX_INT64])
async def test_client_fee_is_ignored(stage: Stage, fee: int, resource_fee: int | None) -> None:
    draft = await stage.draft()
    offered = None if resource_fee is None else resource_data(sizes=(0, 0, 0), fee=resource_fee)
    raw = draft.around([draft.operation()], fee=fee, resources=offered)
    await stage.assert_settles(draft.request(raw))
    assert 100 < _only_sent(stage).fee.uint32 <= CEILING


@case("PV-097")
@promise("settle:holds-the-ceiling", "limit:fee-ceiling")
async def test_fee_above_ceiling_is_refused(stage: Stage) -> None:
    draft = await stage.draft()
    stage.node().on("simulateTransaction", node_proxy.result(_dear))
    await stage.assert_refused(draft.request(), Reason.FEE_EXCEEDS_MAXIMUM, payer=draft.payer)


@case("PV-097")
@promise("limit:fee-ceiling")
async def test_fee_ceiling_is_configurable(cheap: Stage) -> None:
    draft = await cheap.draft()
    await cheap.assert_refused(draft.request(), Reason.FEE_EXCEEDS_MAXIMUM, payer=draft.payer)


@case("PV-108")
async def test_balance_below_floor_is_not_ready_and_signs_nothing(stage: Stage) -> None:
    settings = stage.environment | await own_relayer(stage)
    settings["FAREBOX_BALANCE_FLOOR_STROOPS_TESTNET"] = str(10**14)
    async with service(settings, is_ready=False) as client:
        poor = Stage(client, stage.networks, settings)

        async def is_unfunded() -> bool:
            part = (await client.get("/health/ready")).json()["parts"][Network.TESTNET.value]
            return bool(part == {"status": "unavailable", "reasons": ["account_unfunded"]})

        await until(is_unfunded)
        draft = await poor.draft()
        await poor.assert_refused(
            draft.request(), Reason.SPONSOR_BALANCE_LOW, payer=draft.payer, by_rule=True
        )
        await poor.assert_settles((await poor.draft(Network.PUBNET)).request())


@case("PV-110")
async def test_oversized_simulation_response_is_not_read_to_its_end(stage: Stage) -> None:
    draft = await stage.draft()
    flood = node_proxy.Flood(50_000_000)
    stage.node().on("simulateTransaction", flood.step)
    verdict = await stage.verify(draft.request())
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.NETWORK_UNAVAILABLE)
    assert flood.written < 25_000_000


@case("PV-111")
def test_self_payment_is_refused_on_pubnet() -> None:
    draft = rules.draft(Network.PUBNET)
    loop = draft.but(pay_to=draft.payer)
    rules.assert_refused(loop.request(), Reason.PAYER_IS_RECIPIENT, payer=draft.payer)


@case("PV-111")
async def test_self_payment_settles_on_testnet(stage: Stage) -> None:
    draft = await stage.draft()
    await stage.assert_settles(draft.but(pay_to=draft.payer).request())


@case("PV-027")
@promise("terms:amount-is-exact")
@pytest.mark.parametrize("amount", [2**63, 2**64 + 1, 2**127 - 1])
async def test_largest_amounts_settle_exactly(
    stage: Stage, contract_token: ContractToken, amount: int
) -> None:
    draft = await stage.draft(asset=contract_token.asset, amount=amount)
    rich, poor = await contract_token.pair(amount)
    draft = draft.but(payer=rich, pay_to=poor)
    entry = entry_signed_as(draft, scval.to_vec([]))
    tx_hash = await stage.assert_settles(draft.request(draft.envelope(entry)))
    assert await stage.ledger().balance(contract_token.asset, poor) == amount
    (row,) = await stage.query("SELECT amount FROM settlements WHERE tx_hash = $1", _raw(tx_hash))
    assert int(row["amount"]) == amount


@case("PV-027")
@pytest.mark.parametrize("amount", [2**63, 2**127 - 1])
async def test_amount_beyond_token_limit_is_refused_by_simulation(
    stage: Stage, amount: int
) -> None:
    draft = await stage.draft(amount=amount)
    await stage.assert_refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


@promise("facilitator:operator-pays-the-fee", "facilitator:non-custodial")
async def test_token_moves_directly_and_operator_pays_network_fee(
    stage: Stage,
) -> None:
    draft, ledger = await stage.draft(), stage.ledger()
    payer = key_of(stage.networks[draft.network].scene.payers[2])
    draft = draft.but(payer=payer.public_key, signers=(payer,))
    relayer = stage.relayer().public_key
    parties = (draft.payer, draft.pay_to)
    before = [await ledger.balance(draft.asset, party) for party in parties]
    coin = [await ledger.native_balance(party) for party in (*parties, relayer)]
    await stage.assert_settles(draft.request())
    after = [await ledger.balance(draft.asset, party) for party in parties]
    coin_after = [await ledger.native_balance(party) for party in (*parties, relayer)]
    assert after == [before[0] - draft.amount, before[1] + draft.amount]
    assert coin_after[:2] == coin[:2]
    assert 0 < coin[2] - coin_after[2] <= CEILING


async def test_contract_account_pays_contract_without_classic_account(
    stage: Stage, silent: ContractAccount
) -> None:
    draft = await stage.draft(payer=silent.address)
    draft = draft.but(pay_to=draft.asset)
    entry = entry_signed_as(draft, scval.to_vec([]))
    await stage.assert_settles(draft.request(draft.envelope(entry)))
    native = Asset.native().contract_id(draft.network.passphrase)
    assert await stage.ledger().balance(native, silent.address) == 1_000_000


def _dear(result: node_proxy.Json) -> None:
    """The same resources at a price that only just leaves nothing for inclusion."""
    data = xdr.SorobanTransactionData.from_xdr(result["transactionData"])
    data.resource_fee = xdr.Int64(CEILING)
    result |= {"transactionData": data.to_xdr(), "minResourceFee": str(CEILING)}


def _sent(stage: Stage, network: Network = Network.TESTNET) -> list[node_proxy.Call]:
    return [call for call in stage.node(network).calls if call.method == "sendTransaction"]


def _only_sent(stage: Stage, network: Network = Network.TESTNET) -> xdr.Transaction:
    (call,) = _sent(stage, network)
    envelope = TransactionEnvelope.from_xdr(call.params["transaction"], network.passphrase)
    raw = envelope.to_xdr_object()
    assert raw.v1 is not None
    return raw.v1.tx


def _source(tx: xdr.Transaction) -> str:
    return MuxedAccount.from_xdr_object(tx.source_account).account_id


def _entries(tx: xdr.Transaction) -> list[xdr.SorobanAuthorizationEntry]:
    body = tx.operations[0].body.invoke_host_function_op
    assert body is not None
    return body.auth


def _raw(tx_hash: str) -> bytes:
    return bytes.fromhex(tx_hash)
