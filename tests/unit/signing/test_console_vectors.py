"""The console's decoder is tested with vectors of the code that prepares payments."""

from pathlib import Path
from typing import Final

from support.payment_vectors import payment_vectors

WALLET: Final = Path(__file__).parents[3] / "console" / "src" / "wallet"


def test_vectors_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "decodePayment.vectors.json").read_bytes()
    assert committed == payment_vectors(), "run python -m support.payment_vectors"
