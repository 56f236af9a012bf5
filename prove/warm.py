"""Processes of the service that start at once: forked from one that has everything imported.

That one reads orders from its standard input, one JSON object a line, forks, and answers with
the process id. It and its children end with whoever started it.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Final, Self

from farebox.local.parent_death import die_with_parent

ROOT: Final = Path(__file__).parents[1]


class Warm:
    """The warm process, and the way to have it fork."""

    def __init__(self, sources: Path) -> None:
        self._sources = sources
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        kept = {name: v for name, v in os.environ.items() if not name.startswith("FAREBOX_")}
        path = os.pathsep.join([str(self._sources), str(ROOT)])
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from prove.warm import fork_on_order; fork_on_order()"),
            env=kept | {"PYTHONPATH": path},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def serve(self, settings: Mapping[str, str], *, said: Path, log: Path) -> int:
        """Start `farebox serve` with these settings; its process id.

        Its standard output goes to `said`, its standard error to `log`.
        """
        order = {"settings": dict(settings), "said": str(said), "log": str(log)}
        # an order that was given is answered, also when whoever gave it has left
        return await asyncio.shield(self._fork(order))

    async def _fork(self, order: Mapping[str, object]) -> int:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the warm process was not entered")
        async with self._turn:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()
            return int(await self._process.stdout.readline())


async def ended(process_id: int) -> None:
    """Return once the process is gone or only waits to be forgotten."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def fork_on_order() -> None:
    """Fork a service for each order until standard input ends."""
    import farebox.cli.channels
    import farebox.cli.serve  # noqa: F401 - imported for the children

    signal.signal(signal.SIGCHLD, _forget_the_dead)
    for line in sys.stdin:
        order = json.loads(line)
        last_wish = die_with_parent(signal.SIGKILL)
        process_id = os.fork()
        if process_id == 0:
            if last_wish is not None:
                last_wish()
            _become(order)
        print(process_id, flush=True)


def _forget_the_dead(signal_number: int, frame: FrameType | None) -> None:
    del signal_number, frame
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _become(order: Mapping[str, object]) -> None:
    from farebox.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    settings = order["settings"]
    if isinstance(settings, dict):
        os.environ.update(settings)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in ((1, "said"), (2, "log")):
        opened = os.open(str(order[name]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
    random.seed()
    sys.argv = ["farebox", "serve"]
    main()
