"""The circuit breakers of upstreams."""

from farebox.gateway.relay.breaker import FAILURES, OPEN_S, UpstreamBreaker

UPSTREAM = "api.example.com:443"


def opened(now: float = 100.0) -> UpstreamBreaker:
    breaker = UpstreamBreaker()
    for _ in range(FAILURES):
        assert breaker.admit(UPSTREAM, now) == 0
        breaker.record_failure(UPSTREAM, now)
    return breaker


def test_breaker_opens_after_five_failures_in_a_row() -> None:
    breaker = opened()
    assert breaker.admit(UPSTREAM, 101.0) == OPEN_S - 1
    assert breaker.admit("other.example.com:443", 101.0) == 0


def test_success_between_failures_keeps_the_breaker_closed() -> None:
    breaker = UpstreamBreaker()
    for _ in range(3 * FAILURES):
        breaker.record_failure(UPSTREAM, 1.0)
        breaker.record_success(UPSTREAM)
    assert breaker.admit(UPSTREAM, 1.0) == 0


def test_one_request_tries_the_upstream_once_the_time_has_passed() -> None:
    breaker = opened()
    later = 100.0 + OPEN_S
    assert breaker.admit(UPSTREAM, later) == 0
    assert breaker.admit(UPSTREAM, later) == OPEN_S
    breaker.record_failure(UPSTREAM, later + 1)
    assert breaker.admit(UPSTREAM, later + 1) == OPEN_S


def test_successful_trial_closes_the_breaker() -> None:
    breaker = opened()
    assert breaker.admit(UPSTREAM, 100.0 + OPEN_S) == 0
    breaker.record_success(UPSTREAM)
    assert [breaker.admit(UPSTREAM, 131.0) for _ in range(3)] == [0, 0, 0]


def test_trial_without_a_result_does_not_close_the_upstream_for_ever() -> None:
    breaker = opened()
    assert breaker.admit(UPSTREAM, 100.0 + OPEN_S) == 0
    assert breaker.admit(UPSTREAM, 100.0 + 2 * OPEN_S) == 0


def test_breaker_keeps_the_upstreams_that_failed_last() -> None:
    breaker = UpstreamBreaker(max_upstreams=2)
    for name in ("one", "two", "one", "three"):
        for _ in range(FAILURES):
            breaker.record_failure(name, 1.0)
    assert [breaker.admit(name, 1.0) > 0 for name in ("one", "two", "three")] == [
        True, False, True,
    ]  # fmt: skip
