"""The parts of a drawing as SVG."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 760
HEIGHT: Final = 380


def write_drawing(path: Path, left: float, title: str, parts: Iterable[str]) -> None:
    """Write the parts below a title."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        draw_text(left, 24, title, size=15),
    ]
    path.write_text("\n".join([*head, *parts, "</svg>"]) + "\n")


def draw_line(x1: float, y1: float, x2: float, y2: float, colour: str, *, extra: str = "") -> str:
    """A straight line."""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{extra}/>'


def draw_text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    """Words at a place."""
    place = f'x="{round(x, 1)}" y="{y}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="#222222">{escape(words)}</text>'
