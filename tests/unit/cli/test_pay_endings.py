"""`farebox pay` after the signature: no fault of its own makes a refused payment of an open one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from farebox.buyer.pay import LedgerLooker
from farebox.buyer.signed_payment import NodeAddress, keep_payment
from farebox.cli.main import command
from unit.cli.test_paying import SIGNED

NOWHERE = ("--rpc-url", "http://127.0.0.1:1", "--wait", "0")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return keep_payment(tmp_path, SIGNED, NodeAddress())


@pytest.mark.parametrize("fault", [ValueError("a bug"), KeyboardInterrupt(), OSError(5, "io")])
def test_command_that_breaks_off_after_the_signature_ends_as_unknown(
    kept: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    async def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(LedgerLooker, "conclude", fail)
    result = CliRunner().invoke(command, ("pay", "--look", str(kept), "--json", *NOWHERE))
    assert result.exit_code == 3
    line = json.loads(result.stdout)
    assert (line["outcome"], line["paid"]) == ("unknown", False)
    assert line["look"] == f"farebox pay --look {kept}"
    assert kept.exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_reader_that_has_left_changes_no_exit_code(kept: Path, stream: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    main = "from farebox.cli.main import main; main()"
    words = (sys.executable, "-c", main, "pay", "--look", str(kept), "--json", *NOWHERE)
    ended = subprocess.run(words, **streams, check=False, timeout=60)  # type: ignore[call-overload]  # by name
    os.close(writing)
    assert ended.returncode == 3
    assert kept.exists()
