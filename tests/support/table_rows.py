"""Tables that a test goes through in a loop: a failure names its row."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def in_row(row: object) -> Iterator[None]:
    """Add the row to any error that is raised inside, a failed assertion included."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the row {row!r}")
        raise
