"""The public JavaScript SDKs make a full round trip on the devnet over HTTPS, as they require."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.running_devnet import TESTNET, RunningDevnet

_TRIES = 3
_TRY_S = 60.0  # a registry that does not answer must not hold up the run
PROJECT = Path(__file__).resolve().parents[2] / "devnet" / "sdk" / "node"


@pytest.fixture(scope="module")
def project() -> Path:
    """The project with its packages as the lock file names them."""
    npm = shutil.which("npm")
    assert npm is not None, "install Node.js 20 or newer with npm"
    lock, stamp = PROJECT / "package-lock.json", PROJECT / "node_modules" / ".locked"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        _install(npm)
        stamp.write_bytes(lock.read_bytes())
    return PROJECT


def _install(npm: str) -> None:
    command = (npm, "ci", "--ignore-scripts", "--prefer-offline", "--fetch-timeout=20000")
    for left in reversed(range(_TRIES)):
        try:
            subprocess.run(command, cwd=PROJECT, check=True, stdout=2, timeout=_TRY_S)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            if not left:
                raise
        else:
            return


@pytest.fixture(scope="module")
def devnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], RunningDevnet]]:
    """One network for each form of the header."""
    started: dict[str, RunningDevnet] = {}

    def with_header(form: str) -> RunningDevnet:
        if form not in started:
            folder = str(tmp_path_factory.mktemp("tls"))
            options = ["--passphrase", TESTNET, "--close-ms", "100", "--tls", folder]
            started[form] = RunningDevnet.start(*options, "--header", form)
        return started[form]

    yield with_header
    for running in started.values():
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("package", "header"),
    [("stellar-sdk-14", "ms"), ("stellar-sdk-14", "seconds"), ("stellar-sdk-15", "seconds")],
)
def test_public_sdk_pays_and_reads_the_payment_back(
    project: Path, devnet: Callable[[str], RunningDevnet], package: str, header: str
) -> None:
    running = devnet(header)
    ran = subprocess.run(
        ["node", "round_trip.mjs", package, running.rpc_url],
        cwd=project,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(running.authority)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    receipt = json.loads(ran.stdout.splitlines()[-1])
    assert receipt["sdk"] == package


def test_a_newer_sdk_cannot_read_the_header_of_protocol_30(
    project: Path, devnet: Callable[[str], RunningDevnet]
) -> None:
    running = devnet("ms")
    ran = subprocess.run(
        ["node", "round_trip.mjs", "stellar-sdk-15", running.rpc_url],
        cwd=project,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(running.authority)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode != 0
    assert "unknown StellarValueType member for value 3" in ran.stderr
