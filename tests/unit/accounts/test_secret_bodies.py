"""Request and response bodies that hold a secret show it in no trace and no log."""

import pytest

from farebox.accounts.sign_in_wire import SessionBody, StandardTokenBody, UserBody
from farebox.kernel.clock import SystemClock
from farebox.vault.wire import CreateSecretRequest, RotateSecretRequest

SECRET = "a secret of one user"


@pytest.mark.parametrize(
    "body",
    [
        SessionBody(UserBody("user_1"), SystemClock().now(), token=SECRET),
        StandardTokenBody(SECRET),
        CreateSecretRequest("upstream", SECRET),
        RotateSecretRequest(SECRET),
    ],
    ids=lambda body: type(body).__name__,
)
def test_body_hides_its_secret_in_repr(body: object) -> None:
    assert SECRET not in repr(body)
    assert SECRET not in f"{[body]}"
