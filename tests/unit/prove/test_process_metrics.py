"""The trend of a process from its samples."""

import pytest

from prove.process_metrics import Sample, compute_trend
from testing.machine import RunFailed


def test_trend_needs_two_samples_after_the_warm_up() -> None:
    samples = [Sample(float(at), 1_000_000, 10, at) for at in range(3)]
    assert compute_trend(samples).rss_growth == 0
    with pytest.raises(RunFailed, match="1 sample"):
        compute_trend(samples[:1])
