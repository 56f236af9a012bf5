"""The devnet process: its contract, tested with small programs that keep or break it."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from farebox.local.devnet import DevnetOptions, HeaderForm, start_devnet
from farebox.local.faults import LocalFault

LISTENING = (
    '{"event":"listening","rpc":"http://127.0.0.1:1","admin":"http://127.0.0.1:2",'
    '"passphrase":"P","authority":null}'
)


def program(folder: Path, script: str) -> Path:
    path = folder / "farebox-devnet"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_options_become_the_command_line_of_the_binary() -> None:
    options = DevnetOptions(
        "A net", close_ms=None, header=HeaderForm.SECONDS, tls=Path("/t"), journal=Path("/j")
    )
    line = " ".join(options.arguments())
    assert "--passphrase A net --close-ms manual --header seconds --limits mainnet" in line
    assert "--port 0 --admin-port 0 --tls /t --journal /j" in line
    assert line.endswith("--stop-with-stdin")


async def test_devnet_is_returned_when_it_listens_and_ends_when_stopped(tmp_path: Path) -> None:
    binary = program(tmp_path, f"echo '{LISTENING}'; exec cat")
    async with await start_devnet(DevnetOptions("P"), binary=binary) as devnet:
        assert devnet.rpc_url == "http://127.0.0.1:1"
        assert devnet.admin_url == "http://127.0.0.1:2"
        assert devnet.authority is None
        assert devnet.is_running()
    assert not devnet.is_running()
    await devnet.stop()


async def test_devnet_that_ends_at_once_fails_with_its_last_line(tmp_path: Path) -> None:
    binary = program(
        tmp_path, "echo noise >&2; echo 'Port 7 is taken: choose another.' >&2; exit 2"
    )
    with pytest.raises(LocalFault, match=r"^Port 7 is taken: choose another\.$"):
        await start_devnet(DevnetOptions("P"), binary=binary)


async def test_devnet_with_an_unreadable_first_line_is_stopped(tmp_path: Path) -> None:
    binary = program(tmp_path, f"echo $$ > {tmp_path}/pid; echo hello; exec cat")
    with pytest.raises(LocalFault, match="first line of output cannot be read"):
        await start_devnet(DevnetOptions("P"), binary=binary)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_program_that_cannot_be_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LocalFault, match=r"cannot be run: .*No such file"):
        await start_devnet(DevnetOptions("P"), binary=tmp_path / "absent")


def test_devnet_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    farewell = tmp_path / "farewell"
    os.mkfifo(farewell)
    heard = os.open(farewell, os.O_RDWR)
    binary = program(tmp_path, f"echo '{LISTENING}'; cat; echo gone > {farewell}")
    parent = (
        "import asyncio, pathlib, time\n"
        "from farebox.local.devnet import DevnetOptions, start_devnet\n"
        f"d = asyncio.run(start_devnet(DevnetOptions('P'), binary=pathlib.Path('{binary}')))\n"
        "print('up', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGKILL)
    readable, _, _ = select.select([heard], [], [], 20)
    assert readable == [heard]
    os.close(heard)
