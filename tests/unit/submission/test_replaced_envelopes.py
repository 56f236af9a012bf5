"""A failed envelope decides a payment only where no other envelope of it can land.

Control: each that looks for envelopes takes the first landing that it meets.
"""

from dataclasses import replace

import pytest

from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.catch_up import CatchUp
from farebox.submission.fate import Indeterminate, SentEnvelope
from farebox.submission.submit import Submitter
from support.watching import Watching, landed, sent

FAILED = replace(landed(1, 101), status=LedgerStatus.FAILED, result_code="txFAILED")
NUMBERS = pytest.mark.parametrize(("number", "is_decided"), [(7, True), (8, False)])


def replacing(number: int) -> SentEnvelope:
    """An envelope of this number in place of the failed one, which has number 7."""
    first = sent(1)
    second = replace(sent(2), source=first.source, source_sequence=number)
    return second.in_place_of(first)


def submitter(watching: Watching) -> Submitter:
    return Submitter(watching.ledgers, watching.watcher, watching.clock, poll_s=1, deliver_s=10)


@NUMBERS
@pytest.mark.parametrize("is_listed", [False, True])
async def test_watch_waits_for_an_envelope_of_another_number(
    number: int, *, is_decided: bool, is_listed: bool
) -> None:
    watching = Watching()
    if is_listed:
        await watching.watch_many()
    task = await watching.watch(replacing(number))
    await watching.close(FAILED)
    await watching.close(landed(2, 102))
    assert await task == (FAILED if is_decided else landed(2, 102))


@NUMBERS
async def test_look_finds_no_fate_while_an_envelope_of_another_number_may_land(
    number: int, *, is_decided: bool
) -> None:
    watching = Watching()
    await watching.close(FAILED)
    seen = await submitter(watching).observe(replacing(number))
    assert seen == (FAILED if is_decided else Indeterminate())


@NUMBERS
async def test_listing_finds_no_fate_while_an_envelope_of_another_number_may_land(
    number: int, *, is_decided: bool
) -> None:
    watching, others = Watching(), [sent(tag) for tag in range(10, 16)]
    landings: list[TransactionFound] = [landed(tag, 101) for tag in range(10, 16)]
    await watching.close(FAILED, *landings)
    catch_up = CatchUp(watching.ledgers, submitter(watching), watching.ledgers)
    seen = await catch_up.observe_all([replacing(number), *others])
    assert seen == [FAILED if is_decided else Indeterminate(), *landings]
