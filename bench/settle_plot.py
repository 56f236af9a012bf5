"""A drawing of settlements in each ledger, as SVG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.drawing import HEIGHT, WIDTH, draw_line, draw_text, write_drawing

_LEFT: Final = 52
_RIGHT: Final = 190
_TOP: Final = 44
_BOTTOM: Final = 46
_COLOURS: Final = ("#0b6e4f", "#1d7fbf", "#7a5195", "#c8553d", "#8a8a8a")
_STEP: Final = 50
_PLAIN: Final = ' stroke-width="2"'


def draw_ledgers(
    path: Path,
    series: Mapping[str, Sequence[int]],
    *,
    dotted: frozenset[str],
    ceiling: int,
    ceiling_name: str,
) -> None:
    """Write one line for each series, ledger by ledger, below a dashed ceiling.

    `dotted` names the series that are drawn as dotted lines.
    """
    longest = max(len(values) for values in series.values())
    top = -(-max(ceiling, *(max(values) for values in series.values())) // _STEP) * _STEP
    plot = _Plot(longest, top)
    parts = [
        *plot.grid(),
        plot.dashed(ceiling, ceiling_name),
    ]
    for turn, (name, values) in enumerate(series.items()):
        style = ' stroke-width="3" stroke-dasharray="2 5"' if name in dotted else _PLAIN
        parts += plot.line(name, values, _COLOURS[turn % len(_COLOURS)], turn, style)
    write_drawing(path, _LEFT, "Settlements in each ledger of 5 s", parts)


class _Plot:
    def __init__(self, ledgers: int, top: int) -> None:
        self._ledgers, self._top = ledgers, top
        self._right, self._bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def _x(self, ledger: int) -> float:
        return round(_LEFT + (self._right - _LEFT) * ledger / max(1, self._ledgers - 1), 1)

    def _y(self, count: int) -> float:
        return round(self._bottom - (self._bottom - _TOP) * count / self._top, 1)

    def grid(self) -> list[str]:
        """Draw the axes with their numbers."""
        lines = [
            draw_line(_LEFT, self._y(count), self._right, self._y(count), "#e2e2e2")
            + draw_text(_LEFT - 8, self._y(count) + 4, str(count), anchor="end")
            for count in range(0, self._top + 1, _STEP)
        ]
        numbers = [
            draw_text(self._x(ledger), self._bottom + 18, str(ledger + 1), anchor="middle")
            for ledger in range(0, self._ledgers, 5)
        ]
        middle = (_LEFT + self._right) / 2
        return [*lines, *numbers, draw_text(middle, self._bottom + 36, "ledger", anchor="middle")]

    def dashed(self, count: int, name: str) -> str:
        """Draw the ceiling as a dashed line."""
        y = self._y(count)
        line = draw_line(_LEFT, y, self._right, y, "#333333", extra=' stroke-dasharray="5 4"')
        return line + draw_text(_LEFT + 4, y - 6, name)

    def line(
        self, name: str, values: Sequence[int], colour: str, turn: int, style: str
    ) -> list[str]:
        """Draw one series and its name at the right."""
        points = " ".join(f"{self._x(i)},{self._y(value)}" for i, value in enumerate(values))
        y = _TOP + 18 * turn + 6
        return [
            f'<polyline points="{points}" fill="none" stroke="{colour}"{style}/>',
            draw_line(self._right + 14, y, self._right + 34, y, colour, extra=style),
            draw_text(self._right + 40, y + 4, name),
        ]
