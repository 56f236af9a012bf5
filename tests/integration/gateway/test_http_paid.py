"""The gateway over HTTP with a payment: refusals before it moves, and responses after it."""

import asyncio
from typing import Any

from farebox.facilitator.settlement import KeyConflict, NothingSent, NotSettled, Pending
from farebox.gateway.relay.breaker import FAILURES
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose
from farebox.x402.reasons import Reason
from support.gateway import ORIGIN, Opened, always, code_of, sent, signature
from support.gateway_payments import HASH, wrapper_with_secret
from support.outbound import SELLER
from support.payment_headers import receipt, required
from support.upstream import answers, breaks_off, drops
from support.vault import random_value
from support.wrappers import OTHER_PAY_TO, change_fields, wrappers_of

PAYER = Address(OTHER_PAY_TO)
PRIVATE = "private, no-store"


async def test_paid_request_is_forwarded_and_its_response_passed_on(opened: Opened) -> None:
    answer_of_upstream = answers(b"sunny", status="201 Made", headers=("X-Own: 1",))
    async with opened(answer=answer_of_upstream) as at:
        answer = await at.pay("/a%20b?q=a+b&q=", method="PUT", body=b"hello")
        assert (answer.status, answer.body) == (201, b"sunny")
        assert receipt(answer) == {
            "success": True, "transaction": HASH, "network": "stellar:testnet", "payer": PAYER,
        }  # fmt: skip
        assert (answer.headers["x-own"], answer.headers["cache-control"]) == ("1", PRIVATE)
        assert answer.headers["content-security-policy"].startswith("sandbox")
        head, _, body = sent(at)[0].partition(b"\r\n\r\n")
        assert body == b"hello"
        assert head.startswith(b"PUT /base/a%20b?own=1&q=a+b&q= HTTP/1.1\r\n")
        assert f"X-Farebox-Payment: {HASH}".encode() in head
        assert b"X-Farebox-Attempt: 1" in head
        assert b"Host: " + SELLER.encode() in head
        assert b"payment-signature" not in head.lower()
        (settled,) = at.settler.settled
        assert settled.caller is not None
        assert settled.caller.owner == at.wrapper.owner


async def test_paid_response_without_content_has_no_length(opened: Opened) -> None:
    kept_back = ("if-none-match", "x-http-method-override", "cookie2")
    async with opened(answer=answers(status="204 No Content", headers=("Date: 1", "X-A: 1"))) as at:
        answer = await at.pay(headers=dict.fromkeys(kept_back, "x"))
        assert (answer.status, answer.body) == (204, b"")
        assert "content-length" not in answer.headers
        assert answer.headers["x-a"] == "1"
        assert "date" not in answer.headers
        assert [each for each in kept_back if each.encode() in sent(at)[0].lower()] == []


async def test_path_is_forwarded_byte_for_byte(opened: Opened) -> None:
    async with opened() as at:
        for path in ("/a%2Fb%5c%252F%", '/a|b^[c]{d}<e>"`\\', "//a//b%20;v=1"):
            answer = await at.pay(f"{path}?q={{%22take%22:50}}&a|b^[c]%", payment=path)
            assert answer.status == 200, path
            target = f"/base{path}?own=1&q={{%22take%22:50}}&a|b^[c]%"
            assert sent(at)[-1].startswith(f"GET {target} HTTP/1.1\r\n".encode())


async def test_credential_is_injected_and_never_returned(
    opened: Opened, database: Database
) -> None:
    value = random_value()
    wrapper = await wrapper_with_secret(database, value, purpose=Purpose.BEARER, auth_type="bearer")
    async with opened() as at:
        at.wrapper = wrapper
        coded = {"accept-encoding": "gzip", "range": "bytes=7-"}
        forged = {"authorization": "Bearer forged", "x-api-key": "forged"}
        answer = await at.pay(headers=coded | forged)
        assert answer.status == 200
        head = sent(at)[0]
        assert b"\r\nAccept-Encoding: identity\r\n" in head
        assert b"gzip" not in head
        assert b"range:" not in head.lower()
        assert head.count(b"uthorization") == 1
        assert f"Authorization: Bearer {value.reveal()}".encode() in head
        assert b"forged" not in head
        assert value.reveal() not in repr(answer)


async def test_delivered_response_is_replayed_and_the_upstream_not_called_again(
    opened: Opened,
) -> None:
    async with opened() as at:
        first, second = await at.pay(), await at.pay()
        assert (first.status, first.body) == (second.status, second.body) == (200, b"sunny")
        assert receipt(first) == receipt(second)
        assert (len(sent(at)), len(at.settler.settled)) == (1, 1)


async def test_fifty_equal_requests_settle_once_and_reach_the_upstream_once(
    opened: Opened,
) -> None:
    async with opened() as at:
        at.paid["one"] = signature(await at.offer(), "one")
        answers_ = await asyncio.gather(*(at.pay() for _ in range(50)))
        assert {(each.status, each.body) for each in answers_} == {(200, b"sunny")}
        assert (len(sent(at)), len(at.settler.settled)) == (1, 1)


async def test_payment_belongs_to_the_request_that_presented_it_first(opened: Opened) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"path": "/other"}, {"path": "?q=1"}, {"body": b"other"}, {"method": "POST"},
    )  # fmt: skip
    async with opened() as at:
        await at.pay()
        for change in changes:
            answer = await at.pay(**change)
            assert (answer.status, code_of(answer)) == (409, "payment_used"), change
            assert answer.json()["error"]["details"] == {"transaction": HASH}
        assert len(sent(at)) == 1


async def test_header_without_a_payment_is_refused(opened: Opened) -> None:
    async with opened() as at:
        for value in ("", "%%%", "e30", "W10=", "x" * 20_000, "e30=,e30="):
            answer = await at.client.request("GET", at.url, headers={"payment-signature": value})
            assert (answer.status, code_of(answer)) == (400, "invalid_payment_header"), value[:20]
        assert (sent(at), at.settler.settled) == ([], [])


async def test_version_one_header_counts_as_unpaid(opened: Opened) -> None:
    async with opened() as at:
        answer = await at.client.request("GET", at.url, headers={"x-payment": "e30="})
        assert (answer.status, required(answer)["error"]) == (402, "Payment required")


async def test_other_terms_than_the_wrapper_s_get_the_offer_again(
    opened: Opened, database: Database
) -> None:
    async with opened() as at:
        await at.pay()
        at.paid["two"] = signature(await at.offer("/b"), "two")
        caller = Caller(at.wrapper.owner, CallerKind.SESSION)
        await wrappers_of(database).update(caller, "r", at.wrapper.id, change_fields(amount="7"))
        await at.wrappers.read(at.wrapper.slug)  # as it does once its offer is a second old
        stale = await at.pay("/b", payment="two")
        assert (stale.status, required(stale)["error"]) == (402, "No matching payment requirements")
        assert required(stale)["accepts"][0]["amount"] == "7"
        replayed = await at.pay()  # paid before the change
        assert (replayed.status, replayed.body) == (200, b"sunny")


async def test_payment_for_terms_of_a_moment_ago_gets_the_new_offer(
    opened: Opened, database: Database
) -> None:
    async with opened() as at:
        at.paid["one"] = signature(await at.offer(), "one")
        caller = Caller(at.wrapper.owner, CallerKind.SESSION)
        await wrappers_of(database).update(caller, "r", at.wrapper.id, change_fields(amount="7"))
        answer = await at.pay()  # the offer that is still known accepts it
        assert (answer.status, required(answer)["accepts"][0]["amount"]) == (402, "7")
        assert (sent(at), at.settler.settled) == ([], [])


async def test_paid_request_gets_its_receipt_while_the_credential_cannot_be_read(
    opened: Opened, database: Database
) -> None:
    wrapper = await wrapper_with_secret(database, auth_type="bearer")
    async with opened(answer=answers(b"", status="503 X")) as at:
        at.wrapper = wrapper
        assert (await at.pay()).status == 502
        async with database.connection() as db:
            await db.execute("UPDATE vault_secrets SET sealed = '\\x00'")
        answer = await at.pay()
        assert (answer.status, receipt(answer)["success"]) == (502, True)
        assert answer.json()["error"]["details"]["attemptsLeft"] == 4


async def test_body_beyond_the_limit_is_refused_before_payment(opened: Opened) -> None:
    async with opened(max_request_bytes=10) as at:
        answer = await at.pay(method="POST", body=b"b" * 11)
        assert (answer.status, code_of(answer)) == (413, "body_too_large")
        assert (sent(at), at.settler.settled) == ([], [])
        assert (await at.pay(method="POST", body=b"b" * 10)).status == 200


async def test_header_that_cannot_be_forwarded_is_refused_before_payment(opened: Opened) -> None:
    async with opened() as at:
        answer = await at.pay(headers={"x-own": "caf\u00e9"})
        assert (answer.status, code_of(answer)) == (400, "not_forwarded")
        assert (sent(at), at.settler.settled) == ([], [])


async def test_rate_of_the_wrapper_is_refused_before_payment(opened: Opened) -> None:
    async with opened(monthly_request_quota=1) as at:
        assert (await at.pay()).status == 200
        answer = await at.pay(payment="two")
        assert (answer.status, code_of(answer)) == (429, "monthly_quota_used")
        assert int(answer.headers["retry-after"]) >= 1
        assert len(at.settler.settled) == 1


async def test_payment_that_can_never_settle_gets_the_offer_with_the_reason(
    opened: Opened,
) -> None:
    refusal = NotSettled(Reason.EXPIRED, Network.TESTNET, PAYER)
    async with opened(refusal=refusal) as at:
        answer = await at.pay()
        assert (answer.status, required(answer)["error"]) == (402, refusal.reason.value)
        assert "payment-response" not in answer.headers


async def test_payment_that_failed_or_is_dead_gets_a_receipt_and_no_offer(
    opened: Opened,
) -> None:
    failed = NotSettled(Reason.TRANSACTION_FAILED, Network.TESTNET, PAYER, HASH)
    async with opened(outcome_of=always(failed)) as at:
        answer = await at.pay()
        assert (answer.status, "payment-required" in answer.headers) == (402, False)
        assert receipt(answer)["success"] is False
        assert (receipt(answer)["transaction"], receipt(answer)["errorReason"]) == (
            HASH, Reason.TRANSACTION_FAILED.value,
        )  # fmt: skip
        said = receipt(answer)["errorMessage"]
        assert "sign no other one" in said
        assert "it failed, or can no longer land" in said  # both end with this reason
        assert sent(at) == []


async def test_unknown_outcome_gets_a_receipt_and_no_offer(opened: Opened) -> None:
    pending = Pending(Network.TESTNET, PAYER, HASH)
    async with opened(outcome_of=always(pending)) as at:
        answer = await at.pay()
        assert (answer.status, code_of(answer)) == (503, "settlement_pending")
        assert (receipt(answer)["errorReason"], receipt(answer)["transaction"]) == (
            "settlement_pending", HASH,
        )  # fmt: skip
        assert "payment-required" not in answer.headers
        assert int(answer.headers["retry-after"]) >= 1
        assert sent(at) == []


async def test_nothing_sent_charges_nothing(opened: Opened) -> None:
    errors = {
        503: NothingSent(Network.TESTNET, PAYER, retry_after_s=5),
        409: KeyConflict(Reason.PAYMENT_IDENTIFIER_REUSED, Network.TESTNET, PAYER),
    }
    async with opened() as at:
        for status, error in errors.items():
            at.settler.outcome_of = always(error)
            answer = await at.pay(payment=str(status))
            assert answer.status == status
            assert "payment-required" not in answer.headers, "an offer invites a second payment"
            assert "payment-response" not in answer.headers
        assert sent(at) == []


UNDELIVERED = {
    "status": answers(b"", status="500 X"),
    "dropped": drops(),
    "short": answers(b"x", length=9),
    "ended": breaks_off(b"HTTP/1.1 200 OK\r\n\r\nhalf", resets=False),
    "reset": breaks_off(b"HTTP/1.1 200 OK\r\n\r\nhalf", resets=True),
}


async def test_paid_request_that_was_not_delivered_gets_the_receipt(opened: Opened) -> None:
    async with opened() as at:
        for number, (row, at.seller.upstream.answer) in enumerate(UNDELIVERED.items(), start=1):
            for left in (4, 3, 2, 1, 0, 0):  # the last one is no attempt any more
                answer = await at.pay(payment=row)
                assert (answer.status, receipt(answer)["success"]) == (502, True), row
                assert answer.json()["error"]["details"] == {
                    "transaction": HASH,
                    "attemptsLeft": left,
                    "payment": f"{ORIGIN}/v1/payments/{HASH}",
                }
            assert (len(sent(at)), len(at.settler.settled)) == (5 * number, number)


async def test_response_is_delivered_by_a_later_attempt_without_charge(opened: Opened) -> None:
    async with opened(answer=answers(b"", status="503 X")) as at:
        assert (await at.pay()).status == 502
        at.seller.upstream.answer = answers(b"sunny")
        answer = await at.pay()
        assert (answer.status, answer.body) == (200, b"sunny")
        assert b"X-Farebox-Attempt: 2" in sent(at)[1]
        assert len(at.settler.settled) == 1


async def test_failing_upstream_is_refused_before_payment(opened: Opened) -> None:
    async with opened(answer=answers(b"", status="502 X")) as at:
        for number in range(FAILURES):
            assert (await at.pay(payment=f"{number}")).status == 502
        answer = await at.pay(payment="later")
        assert (answer.status, code_of(answer)) == (503, "upstream_unavailable")
        assert int(answer.headers["retry-after"]) > 1
        assert len(at.settler.settled) == FAILURES
        assert (await at.pay(payment="0")).status == 502  # a paid one is attempted nonetheless


async def test_wrapper_without_its_secret_is_not_called(opened: Opened, database: Database) -> None:
    wrapper = await wrapper_with_secret(database, auth_type="header", auth_header="X-Key")
    async with database.connection() as db:  # another key of the operator sealed it
        await db.execute("UPDATE vault_secrets SET sealed = '\\x00'")
    async with opened() as at:
        at.wrapper = wrapper
        answer = await at.pay()
        assert (answer.status, code_of(answer)) == (503, "service_unavailable")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert (sent(at), at.settler.settled) == ([], [])
