"""A drawing of search latency by class and size, as SVG."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

_WIDTH: Final = 760
_HEIGHT: Final = 380
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
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 24, title, size=15),
        *_legend(series),
        *_grid(),
    ]
    for turn, (name, bars) in enumerate(groups.items()):
        left = _LEFT + wide * turn
        parts.append(_text(left + wide / 2, _HEIGHT - _BOTTOM + 20, name, anchor="middle"))
        thick = wide * 0.8 / max(1, len(series))
        for place, label in enumerate(series):
            if label in bars:
                x = left + wide * 0.1 + thick * place
                parts += _bar(x, thick, bars[label], _COLOURS[place % len(_COLOURS)])
    text = "bar: median; line: 95th percentile"
    parts.append(_text(_WIDTH / 2, _HEIGHT - 14, text, anchor="middle"))
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def _y(ms: float) -> float:
    low, high = (math.log10(each) for each in _DECADES)
    share = (math.log10(min(max(ms, _DECADES[0]), _DECADES[1])) - low) / (high - low)
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share, 1)


def _grid() -> list[str]:
    lines = []
    for ms in (0.1, 1, 10, 100, 1000):
        y = _y(ms)
        lines.append(
            f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="#e2e2e2"/>'
        )
        lines.append(_text(_LEFT - 8, y + 4, f"{ms:g} ms", anchor="end"))
    return lines


def _legend(series: list[str]) -> list[str]:
    parts = []
    for place, label in enumerate(series):
        x = _LEFT + 165 * place
        colour = _COLOURS[place % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="36" width="14" height="12" fill="{colour}"/>')
        parts.append(_text(x + 20, 47, label))
    return parts


def _bar(x: float, thick: float, bar: Bar, colour: str) -> list[str]:
    top, bottom, high = _y(bar.p50_ms), _HEIGHT - _BOTTOM, _y(bar.p95_ms)
    middle, tall = round(x + thick / 2, 1), round(bottom - top, 1)
    return [
        f'<rect x="{x:.1f}" y="{top}" width="{thick - 2:.1f}" height="{tall}" fill="{colour}"/>',
        f'<line x1="{middle}" y1="{top}" x2="{middle}" y2="{high}" stroke="#333333"/>',
        f'<line x1="{middle - 4}" y1="{high}" x2="{middle + 4}" y2="{high}" stroke="#333333"/>',
        _text(middle, top - 4, f"{bar.p50_ms:.3g}", anchor="end", size=10),
    ]


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="#222222">{escape(text)}</text>'
