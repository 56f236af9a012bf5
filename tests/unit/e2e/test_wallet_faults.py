"""The judge of sign-ins sees what went otherwise than it must."""

from dataclasses import replace

import pytest
from stellar_sdk import Keypair

from e2e.wallet import fault_of
from e2e.wallet_accounts import Kind, Login
from e2e.wallet_clients import Answer

KEY = Keypair.random()
WELCOME = Login("one key", Kind.SINGLE, KEY.public_key, (KEY,))
STRANGER = replace(WELCOME, name="stranger", is_welcome=False)
LET_IN = Answer("one key", 200, "", KEY.public_key, replayed=401)
REFUSED = Answer("stranger", 401, "signature_refused")


def test_who_must_get_in_and_does_and_who_must_not_and_does_not_are_no_fault() -> None:
    assert fault_of(WELCOME, LET_IN) is None
    assert fault_of(STRANGER, REFUSED) is None


@pytest.mark.parametrize(
    ("login", "answer", "told"),
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
def test_anything_else_is_named(login: Login, answer: Answer, told: str) -> None:
    found = fault_of(login, answer)
    assert found is not None
    assert told in found
