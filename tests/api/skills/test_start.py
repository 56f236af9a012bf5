"""`farebox serve` does not start with a spec that breaks a rule, and says which."""

import shutil
from pathlib import Path
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from support.command import SOURCES, Ran, run_fresh_farebox

SPEC: Final = "skills/specs/x402-pay/1.0.0.json"
USER_ACTION: Final = 2  # exit code


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may break; what is compiled is copied as well."""
    folder = tmp_path / "fbx-test-src"
    unfinished = shutil.ignore_patterns("*.pyc.*")  # another process may be compiling
    shutil.copytree(SOURCES / "farebox", folder / "farebox", ignore=unfinished)
    return folder


def start(package: Path, url: Secret[str]) -> Ran:
    """Start a service from this package, which ends by itself."""
    settings = {
        "PYTHONPATH": str(package),
        "FAREBOX_DATABASE_URL": url.reveal(),
        "FAREBOX_DATA_DIR": str(package),
        "FAREBOX_PORT": "0",
        "FAREBOX_RPC_URL_TESTNET": "http://127.0.0.1:9/",
        "FAREBOX_RELAYER_SECRET_TESTNET": Keypair.random().secret,
        "FAREBOX_SEARCH_SEMANTIC": "off",
    }
    return run_fresh_farebox("serve", settings=settings)


def test_service_refuses_to_start_and_names_the_fault(
    package: Path, postgres_url: Secret[str]
) -> None:
    right, wrong = '"endpoint": "prepare"', '"endpoint": "prepared"'
    path = package / "farebox" / SPEC
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    ended = start(package, postgres_url)
    assert (ended.code, ended.out) == (USER_ACTION, ""), ended.err
    assert "The skills cannot be served" in ended.err
    assert "x402-pay/1.0.0.json: " in ended.err
    assert "there is no endpoint prepared" in ended.err
    assert "Traceback" not in ended.err
