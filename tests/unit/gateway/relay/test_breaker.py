"""The circuit breakers of wrappers."""

from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.relay.breaker import FAILURES, OPEN_S, UpstreamBreaker
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from support.wrappers import OTHER_PAY_TO

WRAPPER: Final = "wrp_1"
OTHER: Final = "wrp_2"


def payment(nonce: int) -> PaymentIdentity:
    return PaymentIdentity(Network.TESTNET, Address(OTHER_PAY_TO), nonce)


def fail(breaker: UpstreamBreaker, *, times: int, wrapper: str = WRAPPER, now: float) -> None:
    """Let so many payments of one wrapper fail."""
    for nonce in range(times):
        breaker.record_failure(wrapper, payment(nonce), now)


def opened(now: float = 100.0) -> UpstreamBreaker:
    breaker = UpstreamBreaker()
    fail(breaker, times=FAILURES, now=now)
    return breaker


def test_breaker_opens_for_its_wrapper_after_five_failed_payments_in_a_row() -> None:
    breaker = UpstreamBreaker()
    fail(breaker, times=FAILURES - 1, now=100.0)
    assert breaker.wait_s(WRAPPER, 100.0) == 0
    fail(breaker, times=FAILURES, now=100.0)
    assert breaker.wait_s(WRAPPER, 101.0) == OPEN_S - 1
    assert breaker.admit(WRAPPER, payment(9), 101.0) == OPEN_S - 1
    assert breaker.wait_s(OTHER, 101.0) == breaker.admit(OTHER, payment(9), 101.0) == 0


def test_attempts_of_one_payment_count_once() -> None:
    breaker = UpstreamBreaker()
    for _ in range(3 * FAILURES):
        breaker.record_failure(WRAPPER, payment(1), 1.0)
    assert breaker.wait_s(WRAPPER, 1.0) == 0
    fail(breaker, times=FAILURES, now=1.0)
    breaker.record_failure(WRAPPER, payment(1), 20.0)
    assert breaker.wait_s(WRAPPER, 20.0) == OPEN_S - 19


def test_answer_between_failures_keeps_the_breaker_closed() -> None:
    breaker = UpstreamBreaker()
    for nonce in range(3 * FAILURES):
        breaker.record_failure(WRAPPER, payment(nonce), 1.0)
        breaker.record_answer(WRAPPER)
    assert breaker.wait_s(WRAPPER, 1.0) == 0


def test_one_payment_tries_the_upstream_once_the_time_has_passed() -> None:
    breaker = opened()
    later = 100.0 + OPEN_S
    assert breaker.admit(WRAPPER, payment(10), later) == 0
    assert breaker.admit(WRAPPER, payment(11), later) == OPEN_S
    breaker.record_failure(WRAPPER, payment(10), later + 1)
    assert breaker.admit(WRAPPER, payment(11), later + 1) == OPEN_S


def test_look_at_the_breaker_takes_no_trial() -> None:
    breaker = opened()
    later = 100.0 + OPEN_S
    assert [breaker.wait_s(WRAPPER, later) for _ in range(3)] == [0, 0, 0]
    assert breaker.admit(WRAPPER, payment(10), later) == 0


def test_answer_to_the_trial_closes_the_breaker() -> None:
    breaker = opened()
    assert breaker.admit(WRAPPER, payment(10), 100.0 + OPEN_S) == 0
    breaker.record_answer(WRAPPER)
    assert [breaker.admit(WRAPPER, payment(nonce), 131.0) for nonce in range(3)] == [0, 0, 0]


def test_trial_that_ends_without_a_result_leaves_it_to_the_next_payment() -> None:
    breaker = opened()
    later = 100.0 + OPEN_S
    assert breaker.admit(WRAPPER, payment(10), later) == 0
    breaker.end_trial(WRAPPER, payment(11))
    assert breaker.admit(WRAPPER, payment(11), later) == OPEN_S, "the control: not its trial"
    breaker.end_trial(WRAPPER, payment(10))
    assert breaker.admit(WRAPPER, payment(11), later) == 0
    breaker.record_failure(WRAPPER, payment(11), later)
    breaker.end_trial(WRAPPER, payment(11))
    assert breaker.wait_s(WRAPPER, later) == OPEN_S


def test_trial_without_an_end_does_not_close_the_wrapper_for_ever() -> None:
    breaker = opened()
    assert breaker.admit(WRAPPER, payment(10), 100.0 + OPEN_S) == 0
    assert breaker.admit(WRAPPER, payment(11), 100.0 + 2 * OPEN_S) == 0


def test_breaker_keeps_the_wrappers_that_failed_last() -> None:
    breaker = UpstreamBreaker(max_wrappers=2)
    for name in ("one", "two", "one", "three"):
        for nonce in range(FAILURES):
            breaker.record_failure(name, payment(nonce), 1.0)
    assert [breaker.wait_s(name, 1.0) > 0 for name in ("one", "two", "three")] == [
        True, False, True,
    ]  # fmt: skip
