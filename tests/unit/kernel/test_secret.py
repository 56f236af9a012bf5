import json
import pickle

import pytest

from farebox.kernel.secret import MASK, Secret


def test_secret_is_masked_in_every_text_form() -> None:
    secret = Secret("planted")
    forms = [str(secret), repr(secret), f"{secret}", f"{secret:>40}", f"{[secret]}"]
    assert not any("planted" in form for form in forms)
    assert str(secret) == MASK
    assert secret.reveal() == "planted"


def test_secret_cannot_be_serialized() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("planted"))
    with pytest.raises(TypeError):
        json.dumps({"key": Secret("planted")})
