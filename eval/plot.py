"""A picture of what each stage is worth: nDCG@10 of the locked half with its interval."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eval.metrics import Estimate

_WIDTH: Final = 720
_ROW: Final = 44
_LEFT: Final = 190
_TOP: Final = 34
_SCALE: Final = _WIDTH - _LEFT - 70  # from 0 to 1


def draw_stages(path: Path, stages: Mapping[str, Estimate]) -> None:
    """An SVG with a bar for each stage is there."""
    height = _TOP + _ROW * len(stages) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"',
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="14">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        '<text x="16" y="20">nDCG@10 of the locked half, with 95 % intervals</text>',
    ]
    for place, (name, estimate) in enumerate(stages.items()):
        parts += _bar(name, estimate, _TOP + _ROW * place)
    parts.append("</svg>\n")
    path.write_text("\n".join(parts))


def _bar(name: str, estimate: Estimate, y: int) -> list[str]:
    low, high = (_LEFT + _SCALE * each for each in (estimate.low, estimate.high))
    width = _SCALE * estimate.mean
    middle = y + 15
    return [
        f'<text x="16" y="{middle + 5}">{name.replace("_", " ")}</text>',
        f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="30" fill="#8fb4d9"/>',
        f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#1f3d5c" stroke-width="2"/>',
        f'<text x="{high + 8:.1f}" y="{middle + 5}">{estimate.mean:.2f}</text>',
    ]
