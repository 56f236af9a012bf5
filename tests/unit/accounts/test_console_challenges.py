"""The console's readers of challenges are tested with vectors of the code that issues them."""

from pathlib import Path
from typing import Final

from support.account_challenge_vectors import account_challenge_vectors
from support.challenge_vectors import challenge_vectors

WALLET: Final = Path(__file__).parents[3] / "console" / "src" / "wallet"


def test_challenges_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "contractChallenge.vectors.json").read_bytes()
    assert committed == challenge_vectors(), "run python -m support.challenge_vectors"


def test_account_challenges_of_the_console_are_taken_back_by_this_code() -> None:
    committed = (WALLET / "accountChallenge.vectors.json").read_bytes()
    assert committed == account_challenge_vectors(), (
        "run python -m support.account_challenge_vectors"
    )
