"""A payment is continued by the very request that presented it, and by no other one."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.outcome import (
    AttemptStarted,
    NotServed,
    PaymentUsed,
    Replayed,
    WrapperChanged,
)
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.wrapper import Wrapper
from farebox.storage.pool import Database
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from support.gateway_payments import (
    HASH,
    ScriptedSettler,
    enabled_wrapper,
    land,
    new_payment,
    paid_request,
    payer_of,
    settled,
)
from support.vault import OLD, keys

NO_TIME, A_MINUTE = timedelta(0), timedelta(minutes=1)
UNUSED = ValueError("nothing is settled")
RESPONSE = KeptResponse(200, (), b"sunny")


def sealer() -> ByteSealer:
    return ByteSealer(Sealer(keys(OLD), domain="gateway response"))


async def reserved(database: Database, new: NewPayment) -> GatewayPayment:
    """A reservation that no call holds."""
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=NO_TIME)
    assert held is not None
    return held


async def in_state(database: Database, new: NewPayment, state: PaymentState) -> None:
    """The payment in a state, with its response stored once it is delivered."""
    held = await reserved(database, new)
    if state is PaymentState.RESERVED:
        return
    async with database.connection() as db:
        paid = await payment_store.record_paid(db, held, HASH, attempt_for=A_MINUTE)
        assert paid is not None
        kept = ResponseKeeper(database, sealer()).seal(paid, RESPONSE)
        is_ended = await payment_store.end_attempt(
            db, paid, state, status=200, may_repeat=True,
            kept=kept if state is PaymentState.DELIVERED else None,
        )  # fmt: skip
        assert is_ended


STATES = [PaymentState.RESERVED, PaymentState.PAID, PaymentState.DELIVERED, PaymentState.OWED]


@pytest.mark.parametrize("state", STATES)
async def test_other_payment_with_the_nonce_continues_nothing(
    database: Database, state: PaymentState
) -> None:
    """Control: by nonce and binding alone it settles, is delivered, or gets the response."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, state)
    settler = ScriptedSettler(UNUSED)
    of_another_transfer = replace(new, request_digest=b"f" * 32)
    in_other_bytes = replace(new, presented_digest=b"f" * 32)
    for forged, is_for_sale in product((of_another_transfer, in_other_bytes), (True, False)):
        payer = payer_of(database, settler, sealer=sealer())
        outcome = await payer.pay(paid_request(forged, is_for_sale=is_for_sale))
        assert outcome == PaymentUsed("" if state is PaymentState.RESERVED else HASH)
    assert settler.settled == []


@pytest.mark.parametrize("state", [PaymentState.RESERVED, PaymentState.PAID])
async def test_same_bytes_continue_the_payment(database: Database, state: PaymentState) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, state)
    payer = payer_of(database, ScriptedSettler(settled(new)))
    outcome = await payer.pay(paid_request(new, is_for_sale=False))
    assert isinstance(outcome, AttemptStarted)


async def test_row_of_an_older_version_is_continued_by_the_request_digest(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, PaymentState.PAID)
    async with database.connection() as db:
        await db.execute("UPDATE gateway_payments SET presented_digest = NULL")
    payer = payer_of(database, ScriptedSettler(UNUSED))
    assert isinstance(await payer.pay(paid_request(new)), AttemptStarted)


async def test_payment_for_other_terms_reserves_nothing(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    settler = ScriptedSettler(settled(new))
    outcome = await payer_of(database, settler).pay(paid_request(new, is_for_sale=False))
    assert outcome == WrapperChanged()
    assert settler.settled == []
    async with database.connection() as db:
        assert await payment_store.find_payment(db, new.identity) is None


async def test_payment_for_other_terms_is_refused_when_its_row_goes_while_it_waits(
    database: Database,
) -> None:
    """Control: a build that reserves for it sells at the price of the payment."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert held is not None
    settler = ScriptedSettler(settled(new))
    payer = payer_of(database, settler).payer
    async with database.connection() as db:
        await reservation_store.release(db, held)
    outcome = await payer.pay(paid_request(new, is_for_sale=False), held)
    assert outcome == WrapperChanged()
    assert settler.settled == []


async def test_hold_of_a_row_that_another_payment_has_taken_settles_nothing(
    database: Database,
) -> None:
    """The row that was found goes, and one of a dearer payment with the nonce comes."""
    wrapper = await enabled_wrapper(database)
    cheap = await land(database, new_payment(wrapper))
    gone = await reserved(database, cheap)
    dear = replace(cheap, request_digest=b"d" * 32)
    async with database.connection() as db:
        await reservation_store.release(db, gone)
    await reserved(database, dear)
    settler = ScriptedSettler(UNUSED)
    outcome = await payer_of(database, settler).payer.pay(paid_request(cheap), gone)
    assert outcome == PaymentUsed("")
    assert settler.settled == []


async def test_stored_response_is_given_again_to_what_no_ledger_shows(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, PaymentState.DELIVERED)
    payer = payer_of(database, ScriptedSettler(UNUSED), sealer=sealer())
    aged = "UPDATE gateway_payments SET paid_at = now() - make_interval(secs => $1)"
    for is_private, age_s, is_replayed in (
        (True, 59, True),
        (True, 80_000, True),
        (False, 50, True),
        (False, 61, False),
    ):
        async with database.connection() as db:
            await db.execute(aged, age_s)
        outcome = await payer.pay(paid_request(new, is_private=is_private))
        if is_replayed:
            assert isinstance(outcome, Replayed)
            assert outcome.response == RESPONSE
        else:
            assert outcome == PaymentUsed(HASH)


async def test_identifier_that_is_added_to_a_row_of_an_older_version_replays_nothing(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, PaymentState.DELIVERED)
    async with database.connection() as db:
        await db.execute(
            "UPDATE gateway_payments SET presented_digest = NULL,"
            " paid_at = now() - interval '2 minutes'"
        )
    payer = payer_of(database, ScriptedSettler(UNUSED), sealer=sealer())
    assert await payer.pay(paid_request(new)) == PaymentUsed(HASH)


async def test_payment_of_a_wrapper_that_had_the_slug_before_is_not_delivered(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await in_state(database, new, PaymentState.PAID)
    successor: Wrapper = replace(new.wrapper, id="wrp_successor")
    outcome = await payer_of(database, ScriptedSettler(UNUSED)).pay(
        paid_request(replace(new, wrapper=successor))
    )
    assert isinstance(outcome, NotServed)
    assert outcome.payment.tx_hash == HASH


async def test_used_payment_names_the_transaction_that_is_known(database: Database) -> None:
    class Knowing(ScriptedSettler):
        async def find_hash(self, identity: object) -> str:
            return "ef" * 32

    new = new_payment(await enabled_wrapper(database))
    await reserved(database, new)
    other = paid_request(replace(new, request_digest=b"o" * 32))
    assert await payer_of(database, Knowing(UNUSED)).pay(other) == PaymentUsed("ef" * 32)
