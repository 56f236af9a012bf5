"""Draws a soak: memory, descriptors and payments over time, with marks for faults."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from prove.process_metrics import Sample

_WIDTH: Final = 900
_PANEL: Final = 130
_LEFT, _RIGHT, _TOP = 70, 20, 34
_GAP: Final = 34
_COLOURS: Final = ("#1f5fa8", "#a8531f", "#2f7d4f")
_INK: Final = "#8a8f98"

Reading = Callable[[Sample], float]
_PANELS: Final[tuple[tuple[str, Reading], ...]] = (
    ("resident memory, MB", lambda each: each.rss / 1e6),
    ("open descriptors", lambda each: each.descriptors),
    ("payments settled", lambda each: each.settled),
)


def draw(path: Path, samples: Sequence[Sample], faults: Sequence[float], title: str) -> None:
    """Write the plot as SVG, legible on light and dark backgrounds."""
    height = _TOP + len(_PANELS) * (_PANEL + _GAP)
    last = samples[-1].at_s
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"',
        f'font-family="sans-serif" font-size="12" fill="{_INK}">',
        f'<text x="{_LEFT}" y="13" font-size="14">{title}</text>',
    ]
    for number, (name, reading) in enumerate(_PANELS):
        top = _TOP + number * (_PANEL + _GAP)
        values = [(each.at_s / last, reading(each)) for each in samples]
        parts += _panel(top, name, values, _COLOURS[number])
        parts += [_mark(top, at / last) for at in faults if at <= last]
    parts.append(
        f'<text x="{_WIDTH - _RIGHT}" y="{height - 6}" text-anchor="end">'
        f"{last / 60:.0f} minutes; each thin line is a fault or a kill</text></svg>"
    )
    path.write_text("\n".join(parts) + "\n")


def _panel(top: int, name: str, values: Sequence[tuple[float, float]], colour: str) -> list[str]:
    most = max(value for _, value in values) * 1.15 or 1.0
    points = " ".join(f"{_x(at):.1f},{top + _PANEL * (1 - v / most):.1f}" for at, v in values)
    bottom = top + _PANEL
    return [
        f'<text x="{_LEFT}" y="{top - 5}">{name}</text>',
        f'<text x="{_LEFT - 8}" y="{top + 10}" text-anchor="end">{most:,.0f}</text>',
        f'<text x="{_LEFT - 8}" y="{bottom}" text-anchor="end">0</text>',
        f'<path d="M{_LEFT} {top}V{bottom}H{_WIDTH - _RIGHT}" fill="none" stroke="{_INK}"/>',
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>',
    ]


def _mark(top: int, at: float) -> str:
    x = f"{_x(at):.1f}"
    return f'<path d="M{x} {top}V{top + _PANEL}" stroke="{_INK}" stroke-width="0.4" opacity="0.6"/>'


def _x(at: float) -> float:
    return _LEFT + at * (_WIDTH - _LEFT - _RIGHT)
