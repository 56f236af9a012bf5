"""Devnets for the tests of the devnet: each module gets its own."""

from collections.abc import Iterator

import pytest

from support.running_devnet import TESTNET, RunningDevnet


@pytest.fixture(scope="module")
def manual() -> Iterator[RunningDevnet]:
    """A network whose ledgers close only when a test says so."""
    running = RunningDevnet.start("--passphrase", TESTNET, "--close-ms", "manual")
    yield running
    assert running.stop() == 0
