"""The bench of authentication: its figures and its requests."""

import base64

from bench.auth import AuthMeasurement
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


def test_overhead_is_the_median_difference_of_neighbouring_rounds() -> None:
    measurement = AuthMeasurement()
    for without, with_key in ((0.1, 0.4), (5.0, 5.2), (0.1, 9.1)):
        measurement.alone["without"].results.append(_round(without, 1_000))
        measurement.alone["with a key"].results.append(_round(with_key, 400))
        measurement.crowd["without"].results.append(_round(1.0, 3_000))
        measurement.crowd["with a key"].results.append(_round(2.0, 1_500))
    assert measurement.overhead_ms_p50 == 0.3
    assert measurement.figures()["throughput_ratio"] == 0.5


def test_request_has_the_headers_of_the_plan() -> None:
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
