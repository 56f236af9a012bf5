"""Memory and open descriptors of a process, sampled, and whether they stay level."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testing.machine import RunFailed

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_WARM_UP: Final = 0.3  # of the samples: caches and pools fill up in this part of a run


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: seconds since the start, resident bytes, open descriptors, payments settled."""

    at_s: float
    rss: int
    descriptors: int
    settled: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The trend of a process after its warm-up."""

    rss_mb: float  # on average
    rss_growth: float  # over the rest of the run, as a share of the average
    descriptors: int  # the most in the last third
    descriptors_before: int  # the most in the third before it

    def is_flat(self, *, growth: float, descriptors: int) -> bool:
        """Whether memory and descriptors grew by no more than these bounds."""
        return (
            self.rss_growth <= growth and self.descriptors - self.descriptors_before <= descriptors
        )


def sample_process(process_id: int, *, at_s: float, settled: int) -> Sample:
    """Sample a process.

    Raises:
        FileNotFoundError: the process does not exist.
    """
    own = Path(f"/proc/{process_id}")
    resident = int((own / "statm").read_text().split()[1]) * _PAGE
    return Sample(at_s, resident, len(os.listdir(own / "fd")), settled)


def compute_trend(samples: Sequence[Sample]) -> Trend:
    """Fit a line through resident memory after the warm-up; take the peaks of descriptors.

    Raises:
        RunFailed: fewer than two samples are left after the warm-up.
    """
    after_warm_up = samples[int(len(samples) * _WARM_UP) :]
    if len(after_warm_up) < 2:
        raise RunFailed(f"{len(samples)} samples of a process do not show a trend")
    mean_t = sum(each.at_s for each in after_warm_up) / len(after_warm_up)
    mean_rss = sum(each.rss for each in after_warm_up) / len(after_warm_up)
    spread = sum((each.at_s - mean_t) ** 2 for each in after_warm_up)
    slope = sum((each.at_s - mean_t) * (each.rss - mean_rss) for each in after_warm_up) / spread
    duration = after_warm_up[-1].at_s - after_warm_up[0].at_s
    third = max(1, len(after_warm_up) // 3)
    return Trend(
        rss_mb=round(mean_rss / 1e6, 1),
        rss_growth=round(slope * duration / mean_rss, 4),
        descriptors=max(each.descriptors for each in after_warm_up[-third:]),
        descriptors_before=max(
            each.descriptors for each in after_warm_up[-2 * third : -third] or after_warm_up
        ),
    )
