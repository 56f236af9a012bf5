"""The console's readers of automation are tested with vectors of the code that plans."""

from pathlib import Path
from typing import Final

from support.sheet_vectors import sheet_vectors

WALLET: Final = Path(__file__).parents[4] / "console" / "src" / "wallet"


def test_vectors_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "readInstallEntry.vectors.json").read_bytes()
    assert committed == sheet_vectors(), "run python -m support.sheet_vectors"
