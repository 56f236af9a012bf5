"""A drawing of search latency by class and size, as SVG."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.drawing import HEIGHT, WIDTH, draw_line, draw_text, write_drawing

_LEFT: Final = 68
_RIGHT: Final = 16
_TOP: Final = 66
_BOTTOM: Final = 58
_COLOURS: Final = ("#a8d5c2", "#3f9c7a", "#0b6e4f", "#8a8a8a")
_DECADES: Final = (0.1, 1000.0)  # ms


@dataclass(frozen=True, slots=True)
class Bar:
    """The median and the 95th percentile of a series."""

    p50_ms: float
    p95_ms: float


def draw_latencies(path: Path, groups: Mapping[str, Mapping[str, Bar]], title: str) -> None:
    """Write one group of bars for each class, one bar for each series, on a logarithmic scale."""
    series = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    wide = (WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    parts = [
        *_legend(series),
        *_grid(),
    ]
    for turn, (name, bars) in enumerate(groups.items()):
        left = _LEFT + wide * turn
        parts.append(draw_text(left + wide / 2, HEIGHT - _BOTTOM + 20, name, anchor="middle"))
        thick = wide * 0.8 / max(1, len(series))
        for place, label in enumerate(series):
            if label in bars:
                x = left + wide * 0.1 + thick * place
                parts += _bar(x, thick, bars[label], _COLOURS[place % len(_COLOURS)])
    legend = "bar: median; line: 95th percentile"
    parts.append(draw_text(WIDTH / 2, HEIGHT - 14, legend, anchor="middle"))
    write_drawing(path, _LEFT, title, parts)


def _y(ms: float) -> float:
    low, high = (math.log10(each) for each in _DECADES)
    share = (math.log10(min(max(ms, _DECADES[0]), _DECADES[1])) - low) / (high - low)
    return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share, 1)


def _grid() -> list[str]:
    lines = []
    for ms in (0.1, 1, 10, 100, 1000):
        y = _y(ms)
        lines.append(draw_line(_LEFT, y, WIDTH - _RIGHT, y, "#e2e2e2"))
        lines.append(draw_text(_LEFT - 8, y + 4, f"{ms:g} ms", anchor="end"))
    return lines


def _legend(series: list[str]) -> list[str]:
    parts = []
    for place, label in enumerate(series):
        x = _LEFT + 165 * place
        colour = _COLOURS[place % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="36" width="14" height="12" fill="{colour}"/>')
        parts.append(draw_text(x + 20, 47, label))
    return parts


def _bar(x: float, thick: float, bar: Bar, colour: str) -> list[str]:
    top, bottom, high = _y(bar.p50_ms), HEIGHT - _BOTTOM, _y(bar.p95_ms)
    middle, tall = round(x + thick / 2, 1), round(bottom - top, 1)
    return [
        f'<rect x="{x:.1f}" y="{top}" width="{thick - 2:.1f}" height="{tall}" fill="{colour}"/>',
        draw_line(middle, top, middle, high, "#333333"),
        draw_line(middle - 4, high, middle + 4, high, "#333333"),
        draw_text(middle, top - 4, f"{bar.p50_ms:.3g}", anchor="end", size=10),
    ]
