"""The judge of sign-ins finds each unexpected outcome."""

from dataclasses import replace

import pytest
from stellar_sdk import Keypair

from e2e.wallet import find_fault
from e2e.wallet_accounts import Kind, Login
from e2e.wallet_clients import Answer

KEY = Keypair.random()
WELCOME = Login("one key", Kind.SINGLE, KEY.public_key, (KEY,))
STRANGER = replace(WELCOME, name="stranger", must_succeed=False)
LET_IN = Answer("one key", 200, "", KEY.public_key, replayed=401)
REFUSED = Answer("stranger", 401, "signature_refused")


def test_expected_sign_in_and_expected_refusal_are_no_fault() -> None:
    assert find_fault(WELCOME, LET_IN) is None
    assert find_fault(STRANGER, REFUSED) is None


@pytest.mark.parametrize(
    ("login", "answer", "expected"),
    [
        (WELCOME, REFUSED, "refused"),
        (WELCOME, replace(LET_IN, address=Keypair.random().public_key), "taken for"),
        (WELCOME, replace(LET_IN, address=""), "taken for"),
        (WELCOME, replace(LET_IN, replayed=200), "second time"),
        (WELCOME, replace(LET_IN, fault="InvalidChallenge: no"), "InvalidChallenge"),
        (STRANGER, LET_IN, "answered 200"),
        (STRANGER, replace(REFUSED, code="challenge_not_open"), "challenge_not_open"),
        (STRANGER, replace(REFUSED, status=500, code="internal_error"), "500"),
    ],
)
def test_unexpected_outcome_is_a_named_fault(login: Login, answer: Answer, expected: str) -> None:
    found = find_fault(login, answer)
    assert found is not None
    assert expected in found
