"""The parameters of a query string or of a form body."""

from typing import Final
from urllib.parse import parse_qsl

_MAX_FIELDS: Final = 64


def read_pairs(query: bytes, *, max_fields: int = _MAX_FIELDS) -> list[tuple[str, str]]:
    """Read the names and values, in order; an empty value counts.

    Raises:
        ValueError: it has bytes that are not ASCII, or more than `max_fields` parameters.
    """
    return parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=max_fields)


def read_values(query: bytes, name: str) -> set[str]:
    """Read the distinct values of one parameter; raises as `read_pairs` does."""
    return {value for each, value in read_pairs(query) if each == name}
