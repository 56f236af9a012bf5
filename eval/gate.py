"""The figures that the search has reached, and how far they may fall."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from eval.labelled import Half
from eval.scores import Answer, of_half, score

BASELINE: Final = Path(__file__).parent / "baseline.json"
MOST_LOST: Final = 0.02


def reached() -> Mapping[str, float]:
    """nDCG@10 of the locked half, by stage, as it was written down."""
    return msgspec.json.decode(BASELINE.read_bytes(), type=dict[str, float])


def locked_ndcg10(answers: list[Answer]) -> float:
    """The figure that is compared."""
    return score(of_half(answers, Half.LOCKED)).ndcg10.mean


def fallen(stage: str, value: float) -> str | None:
    """What to say when a stage's figure is more than `MOST_LOST` below what it was; or None."""
    before = reached()[stage]
    if value >= before - MOST_LOST:
        return None
    return f"{stage}: nDCG@10 {value:.3f}, it was {before:.3f}"


def keep(figures: Mapping[str, float]) -> None:
    """These are the figures from now on."""
    kept = {stage: round(value, 4) for stage, value in figures.items()}
    BASELINE.write_bytes(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
