"""No test is named after a key or token: the name would leak it and differ in every process."""

import re
from typing import Final

import pytest

_RUN: Final = re.compile(r"[0-9A-Za-z+/=_-]{24,}")
_NO_WORD: Final = re.compile(r"[A-Z0-9]")  # characters that ordinary words lack


@pytest.hookimpl(tryfirst=True)
def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A value with something random in it is called by its parameter's name and a number.

    Workers that run a suite together have to call every test the same.
    """
    del config
    text = val.decode("latin-1") if isinstance(val, bytes) else val
    if not isinstance(text, str):
        return None
    return argname if any(map(_NO_WORD.search, _RUN.findall(text))) else None
