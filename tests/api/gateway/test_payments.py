"""Payments as their parties see them: state and receipt for everybody, details for the owner."""

import asyncio
import secrets
from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk.scval import to_address, to_int128

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.callers import Wallet, bearer, create_key, send_request, sign_in_wallet
from support.paid_gateway import PAYMENTS, PaidGateway
from support.payment_headers import receipt
from support.payments import Json
from support.stage import key_of
from support.upstream import answers

PUBLIC = {
    "transaction", "network", "asset", "amount", "payTo", "state", "receipt", "sentAt",
    "settledAt", "attemptsLeft", "refund",
}  # fmt: skip


@pytest.fixture
async def shop(shared_shop: PaidGateway, module_database: str) -> PaidGateway:
    """The service that these tests share, with a seller who has sold nothing."""
    async with Database(Secret(module_database), connections=1) as database:
        return replace(shared_shop, seller=await sign_in_wallet(database))


async def wallet_of(
    shop: PaidGateway, address: str, *, network: Network = Network.TESTNET
) -> Wallet:
    """Sign a wallet in."""
    url = Secret(shop.stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database:
        return await sign_in_wallet(database, address=address, network=network)


async def owed(shop: PaidGateway, **members: Any) -> Json:
    """Make a payment that is owed: the upstream failed and nothing may be repeated."""
    wrapper = await shop.serve(**members)
    shop.upstream.answer = answers(b"", length=5)  # it breaks off
    answer = await shop.buy(wrapper, method="POST", body=b"{}")
    assert answer.status == 502, answer.body
    assert answer.json()["error"]["details"]["attemptsLeft"] == 0
    shown = await shop.client.get(f"{PAYMENTS}/{receipt(answer)['transaction']}")
    assert shown.json()["state"] == "owed"
    return shown.json()


async def refund(shop: PaidGateway, payment: Json, transaction: str, **who: Any) -> Any:
    path = f"{PAYMENTS}/{payment['transaction']}/refund"
    return await shop.send("POST", path, {"transaction": transaction}, **who)


async def transfer_back(
    shop: PaidGateway, *, amount: int = 10_000, sender: Party | None = None
) -> str:
    """Pay from the recipient, or another sender, to the payer; return the transaction's hash."""
    scene = shop.stage.networks[Network.TESTNET].scene
    payee, payer = sender or scene.payees[0], scene.payers[0]
    arguments = [to_address(payee.address), to_address(payer.address), to_int128(amount)]
    found = await shop.stage.ledger().submit(
        key_of(payee),
        lambda b: b.append_invoke_contract_function_op(scene.asset, "transfer", arguments),
    )
    return str(found.transaction_hash)


async def test_payment_is_found_by_an_envelope_that_another_one_replaced(
    shop: PaidGateway,
) -> None:
    """A pending answer named that envelope, and another one of the payment landed."""
    bought = receipt(await shop.buy(await shop.serve(), "/city"))["transaction"]
    outer, inner = secrets.token_bytes(32), secrets.token_bytes(32)
    await shop.stage.query(
        "INSERT INTO replaced_envelopes (tx_hash, inner_hash, network, payer, nonce, source,"
        " source_sequence, max_time, fee_limit, sent_after_ledger, was_refused)"
        " SELECT $2, $3, network, payer, nonce, source, source_sequence, max_time, fee_limit,"
        " sent_after_ledger, false FROM settlements WHERE tx_hash = $1",
        bytes.fromhex(bought),
        outer,
        inner,
    )
    for known in (outer, inner):
        shown = await shop.client.get(f"{PAYMENTS}/{known.hex()}")
        assert (shown.status, shown.json()["transaction"]) == (200, bought)


async def test_payment_is_shown_to_everybody_and_its_sale_to_the_owner(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    bought = receipt(await shop.buy(wrapper, "/city"))
    path = f"{PAYMENTS}/{bought['transaction']}"
    public = (await shop.client.get(path)).json()
    assert set(public) == PUBLIC
    assert public["state"] == "delivered"
    assert public["receipt"] == bought
    own = (await shop.send("GET", path)).json()
    assert own["sale"]["path"] == "/city"
    assert own["sale"]["wrapper"] == wrapper["id"]
    stranger = await wallet_of(shop, shop.stage.networks[Network.TESTNET].scene.payees[1].address)
    assert (await shop.send("GET", path, wallet=stranger)).json() == public


async def test_unknown_transaction_is_not_found(shop: PaidGateway) -> None:
    for tx_hash in (secrets.token_hex(32), "x", secrets.token_hex(32).upper()):
        assert (await shop.client.get(f"{PAYMENTS}/{tx_hash}")).status == 404


async def test_lists_hold_what_a_wallet_received_paid_and_had_settled(shop: PaidGateway) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    wrapper = await shop.serve()
    sold = receipt(await shop.buy(wrapper))["transaction"]
    direct = await shop.stage.assert_settles((await shop.stage.draft()).request())
    payee = await wallet_of(shop, scene.payees[0].address)
    payer = await wallet_of(shop, scene.payers[0].address)

    async def listed(query: str, wallet: Wallet | None = None) -> list[str]:
        answer = await shop.send("GET", f"{PAYMENTS}?{query}", wallet=wallet)
        assert answer.status == 200, answer.body
        return [each["transaction"] for each in answer.json()["items"]]

    assert await listed("role=received", payee) == [direct, sold]
    assert await listed("", payee) == [direct, sold]
    assert await listed("role=paid", payer) == [direct, sold]
    assert await listed("role=settled") == [sold]
    assert await listed(f"role=settled&wrapper={wrapper['id']}") == [sold]
    assert await listed("state=settled", payee) == [direct]
    assert await listed("state=delivered&network=stellar:testnet", payee) == [sold]
    assert await listed("since=2001-01-01T00:00:00Z", payee) == [direct, sold]
    assert await listed("until=2001-01-01T00:00:00Z", payee) == []
    assert await listed("role=received") == []


async def test_list_never_leaves_the_network_of_the_wallet(shop: PaidGateway) -> None:
    """The same address on another network is another user: a sign-in proves nothing there."""
    scene = shop.stage.networks[Network.PUBNET].scene
    await shop.stage.assert_settles((await shop.stage.draft(Network.PUBNET)).request())
    here = await wallet_of(shop, scene.payees[0].address)
    there = await wallet_of(shop, scene.payees[0].address, network=Network.PUBNET)
    key = bearer((await create_key(shop.client, here.headers, scopes=["read"]))["key"])

    async def codes(role: str, headers: dict[str, str]) -> list[object]:
        seen: list[object] = []
        for query in (f"role={role}&network=stellar:pubnet", f"role={role}"):
            answer = await send_request(shop.client, "GET", f"{PAYMENTS}?{query}", headers)
            body = answer.json()
            seen.append(len(body["items"]) if answer.status == 200 else body["error"]["code"])
        return seen

    for role in ("received", "paid"):
        for headers in (here.headers, key):
            assert await codes(role, headers) == ["account_not_proven", 0], role
    assert await codes("settled", here.headers) == [0, 0], "its own, on every network"
    assert (await codes("received", there.headers))[0] == 1


async def test_unproven_payment_is_shown_to_both_sides_and_to_the_seller(
    shop: PaidGateway,
) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    tx_hash = receipt(await shop.buy(await shop.serve()))["transaction"]
    await shop.stage.query(
        "UPDATE settlements SET state = 'unproven', answered_at = NULL, reason = $2,"
        " next_look_at = now() + interval '1 hour'"  # a look would prove it: it is on the ledger
        " WHERE tx_hash = $1",
        bytes.fromhex(tx_hash),
        Reason.OUTCOME_UNPROVEN.value,
    )
    await shop.stage.query("DELETE FROM gateway_responses")
    await shop.stage.query("UPDATE gateway_payments SET state = 'reserved', paid_at = NULL")
    payee = await wallet_of(shop, scene.payees[0].address)
    payer = await wallet_of(shop, scene.payers[0].address)
    for role, wallet in (("received", payee), ("paid", payer), ("settled", shop.seller)):
        answer = await shop.send("GET", f"{PAYMENTS}?role={role}&state=unproven", wallet=wallet)
        (shown,) = answer.json()["items"]
        assert (shown["transaction"], shown["receipt"]["success"]) == (tx_hash, False)
        assert shown["receipt"]["errorReason"] == Reason.OUTCOME_UNPROVEN.value
        assert ("sale" in shown) is (role == "settled")


async def test_list_has_pages(shop: PaidGateway) -> None:
    payee = await wallet_of(shop, shop.stage.networks[Network.TESTNET].scene.payees[0].address)
    made = [await shop.stage.assert_settles((await shop.stage.draft()).request()) for _ in range(3)]
    seen, cursor = [], ""
    for _ in range(3):
        answer = await shop.send("GET", f"{PAYMENTS}?limit=1{cursor}", wallet=payee)
        (item,) = answer.json()["items"]
        seen.append(item["transaction"])
        cursor = f"&cursor={answer.json()['pagination']['nextCursor']}"
    assert seen == made[::-1]
    assert cursor == "&cursor=None"


@pytest.mark.parametrize(
    "query",
    ["role=x", "state=x", "network=x", "since=x", "since=2026-01-01", "role=paid&role=received"],
)
async def test_filter_that_cannot_be_read_is_refused(shop: PaidGateway, query: str) -> None:
    answer = await shop.send("GET", f"{PAYMENTS}?{query}")
    assert answer.status == 400
    assert answer.json()["error"]["code"] == "invalid_filter"


async def test_owner_closes_an_owed_payment_with_a_refund_on_the_ledger(shop: PaidGateway) -> None:
    payment = await owed(shop)
    paid_back = await transfer_back(shop)
    for _ in range(2):  # the same refund again changes nothing
        answer = await refund(shop, payment, paid_back)
        assert answer.status == 200, answer.body
        assert (answer.json()["state"], answer.json()["refund"]) == ("refunded", paid_back)
    events = (await shop.send("GET", "/v1/audit?action=payment.refunded")).json()["items"]
    assert [each["subject"] for each in events] == [payment["transaction"]]


async def test_refund_counts_for_one_payment(shop: PaidGateway) -> None:
    first, second = await owed(shop, name="One"), await owed(shop, name="Two")
    paid_back = await transfer_back(shop)
    assert (await refund(shop, first, paid_back)).status == 200
    answer = await refund(shop, second, paid_back)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_refund")


async def test_one_transaction_closes_one_payment_of_two_sellers_that_show_it_at_once(
    shop: PaidGateway,
) -> None:
    """Two sellers are paid by one account; who of them pays back is not told by the ledger."""
    other = await wallet_of(shop, shop.stage.networks[Network.TESTNET].scene.payees[1].address)
    sellers = (shop, replace(shop, seller=other))
    payments = [await owed(each) for each in sellers]
    paid_back = await transfer_back(shop)
    answers = await asyncio.gather(
        *(
            refund(each, own, paid_back)
            for _ in range(3)
            for each, own in zip(sellers, payments, strict=True)
        )
    )
    states = [
        (await shop.client.get(f"{PAYMENTS}/{each['transaction']}")).json()["state"]
        for each in payments
    ]
    assert sorted(states) == ["owed", "refunded"]
    for answer, state in zip(answers, states * 3, strict=True):
        assert answer.status == (200 if state == "refunded" else 400), answer.body


async def test_two_transactions_shown_at_once_close_a_payment_once(shop: PaidGateway) -> None:
    payment = await owed(shop)
    await shop.stage.assert_settles((await shop.stage.draft()).request())  # enough for two refunds
    hashes = [await transfer_back(shop) for _ in range(2)]
    answers = await asyncio.gather(*(refund(shop, payment, each) for each in hashes))
    assert sorted(answer.status for answer in answers) == [200, 409]
    events = (await shop.send("GET", "/v1/audit?action=payment.refunded")).json()["items"]
    assert [each["subject"] for each in events] == [payment["transaction"]]


async def test_transfer_of_a_third_party_is_no_refund(shop: PaidGateway) -> None:
    """Another seller pays the same payer back: it closes that seller's payment alone."""
    scene = shop.stage.networks[Network.TESTNET].scene
    honest = replace(shop, seller=await wallet_of(shop, scene.payees[1].address))
    hostile_sale = await owed(shop)
    honest_sale = await owed(honest, payTo=scene.payees[1].address)
    paid_back = await transfer_back(shop, sender=scene.payees[1])
    for _ in range(2):
        refused = await refund(shop, hostile_sale, paid_back)
        assert (refused.status, refused.json()["error"]["code"]) == (400, "invalid_refund")
    assert (await refund(honest, honest_sale, paid_back)).json()["state"] == "refunded"


async def test_owner_pays_back_from_the_account_of_the_sign_in(shop: PaidGateway) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    seller = replace(shop, seller=await wallet_of(shop, scene.payees[1].address))
    payment = await owed(seller)  # paid to another account
    draft = (await shop.stage.draft()).but(pay_to=scene.payees[1].address)
    await shop.stage.assert_settles(draft.request())
    paid_back = await transfer_back(shop, sender=scene.payees[1])
    assert (await refund(seller, payment, paid_back)).json()["state"] == "refunded"


async def test_transaction_that_is_no_refund_is_refused(shop: PaidGateway) -> None:
    await owed(shop, name="One")  # the recipient has something to pay back
    before = await transfer_back(shop)
    payment = await owed(shop, name="Two")
    settled = await shop.stage.assert_settles((await shop.stage.draft()).request())
    for tx_hash in (
        before,
        settled,
        payment["transaction"],
        await transfer_back(shop, amount=9_999),
        secrets.token_hex(32),
    ):
        answer = await refund(shop, payment, tx_hash)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_refund")


async def test_payment_settled_for_the_payer_is_no_refund(shop: PaidGateway) -> None:
    """The recipient buys from the payer: that is a payment, and no refund."""
    payment = await owed(shop)
    scene = shop.stage.networks[Network.TESTNET].scene
    payee, payer = scene.payees[0], scene.payers[0]
    draft = (await shop.stage.draft()).but(
        payer=payee.address, signers=(key_of(payee),), pay_to=payer.address
    )
    settled = await shop.stage.assert_settles(draft.request())
    answer = await refund(shop, payment, settled)
    assert answer.json()["error"]["message"] == "It is a payment that was settled here."


async def test_refund_of_another_s_payment_is_not_found(shop: PaidGateway) -> None:
    payment = await owed(shop)
    stranger = await wallet_of(shop, shop.stage.networks[Network.TESTNET].scene.payees[1].address)
    answer = await refund(shop, payment, secrets.token_hex(32), wallet=stranger)
    assert answer.status == 404


async def test_refund_of_a_delivered_payment_is_refused(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    bought = receipt(await shop.buy(wrapper))
    answer = await refund(shop, bought, await transfer_back(shop))
    assert (answer.status, answer.json()["error"]["code"]) == (409, "payment_not_owed")
