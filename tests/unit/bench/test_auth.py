"""What the bench of authentication concludes, and that its load shows what it says it shows."""

import base64

from bench.auth import Measured
from bench.load import Plan, Result, request_bytes


def _round(p50_ms: float, per_second: float) -> Result:
    return Result(
        answers=100,
        unexpected=0,
        elapsed_s=1.0,
        per_second=per_second,
        p50_ms=p50_ms,
        p99_ms=p50_ms * 2,
        busy=0.1,
    )


def test_the_overhead_is_the_median_of_what_neighbouring_rounds_differ_by() -> None:
    measured = Measured()
    for without, with_key in ((0.1, 0.4), (5.0, 5.2), (0.1, 9.1)):
        measured.alone["without"].results.append(_round(without, 1_000))
        measured.alone["with a key"].results.append(_round(with_key, 400))
        measured.crowd["without"].results.append(_round(1.0, 3_000))
        measured.crowd["with a key"].results.append(_round(2.0, 1_500))
    assert measured.overhead_ms_p50 == 0.3
    assert measured.figures()["throughput_ratio"] == 0.5


def test_every_request_carries_the_headers_of_the_plan() -> None:
    plan = Plan(
        host="h",
        port=1,
        path="/verify",
        bodies=[base64.b64encode(b"{}").decode()] * 2,
        in_flight=1,
        duration_s=1,
        expect=[""],
        headers={"Authorization": "Bearer x"},
    )
    for request in request_bytes(plan):
        head, _, body = request.partition(b"\r\n\r\n")
        assert body == b"{}"
        assert head.split(b"\r\n").count(b"Authorization: Bearer x") == 1
