"""A question of a command ends at the first Ctrl-C."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from support.command import environment
from testing.waiting import until_blocking

# the question is asked inside an event loop, as `farebox pay` asks it
SCRIPT: Final = """
import asyncio
from farebox.cli.exits import confirm

async def ask():
    return confirm("Pay?")

print(asyncio.run(ask()))
"""


def test_first_interrupt_ends_a_question_without_an_approval() -> None:
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=environment({}),
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        start_new_session=True,
    ) as process:
        os.close(its_end)
        try:
            read_until(terminal, b"[y/N]: ")
            until_blocking(lambda: is_asleep(process.pid) or None)  # in its read
            process.send_signal(signal.SIGINT)
            read_until(terminal, b"False")
            assert process.wait(20) == 0
        finally:
            process.kill()
            os.close(terminal)


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def read_until(terminal: int, words: bytes) -> None:
    shown = b""
    while words not in shown:
        readable, _, _ = select.select([terminal], [], [], 20)
        assert readable, shown
        shown += os.read(terminal, 1024)
