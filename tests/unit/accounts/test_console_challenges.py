"""The console's reader of SEP-45 challenges is tested with vectors of the code that issues them."""

from pathlib import Path
from typing import Final

from support.challenge_vectors import challenge_vectors

WALLET: Final = Path(__file__).parents[3] / "console" / "src" / "wallet"


def test_challenges_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "contractChallenge.vectors.json").read_bytes()
    assert committed == challenge_vectors(), "run python -m support.challenge_vectors"
