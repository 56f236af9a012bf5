"""Memory and open descriptors of a process, sampled, and whether they stay level."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_WARM_UP: Final = 0.3  # of the samples: caches and pools fill up in this part of a run


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: seconds since the start, resident bytes, open descriptors, payments settled."""

    at_s: float
    rss: int
    descriptors: int
    settled: int


@dataclass(frozen=True, slots=True)
class Trend:
    """How a process developed after its warm-up."""

    rss_mb: float  # on average
    rss_growth: float  # over the rest of the run, as a share of the average
    descriptors: int  # the most in the last third
    descriptors_before: int  # the most in the third before it

    def is_flat(self, *, growth: float, descriptors: int) -> bool:
        """Whether neither grew by more than so much."""
        return (
            self.rss_growth <= growth and self.descriptors - self.descriptors_before <= descriptors
        )


def look(process_id: int, *, at_s: float, settled: int) -> Sample:
    """The process as it is now.

    Raises:
        FileNotFoundError: there is no such process.
    """
    own = Path(f"/proc/{process_id}")
    resident = int((own / "statm").read_text().split()[1]) * _PAGE
    return Sample(at_s, resident, len(os.listdir(own / "fd")), settled)


def trend(samples: Sequence[Sample]) -> Trend:
    """The line through what was resident after the warm-up, and the peaks of descriptors."""
    warm = samples[int(len(samples) * _WARM_UP) :]
    mean_t = sum(each.at_s for each in warm) / len(warm)
    mean_rss = sum(each.rss for each in warm) / len(warm)
    spread = sum((each.at_s - mean_t) ** 2 for each in warm)
    slope = sum((each.at_s - mean_t) * (each.rss - mean_rss) for each in warm) / spread
    lasted = warm[-1].at_s - warm[0].at_s
    third = max(1, len(warm) // 3)
    return Trend(
        rss_mb=round(mean_rss / 1e6, 1),
        rss_growth=round(slope * lasted / mean_rss, 4),
        descriptors=max(each.descriptors for each in warm[-third:]),
        descriptors_before=max(each.descriptors for each in warm[-2 * third : -third] or warm),
    )
