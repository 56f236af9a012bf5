"""A fork server: starts processes of the service from one that has everything imported.

It reads requests from its standard input, one JSON object a line, forks, and answers with the
process id. It and its children end with the process that started it.
"""

import asyncio
import gc
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

from farebox.local.child import die_with_parent

ROOT: Final = Path(__file__).parents[1]
# no case calls a server of a public authority; each process would read the system's for 0.05 s
_NO_AUTHORITIES: Final = {"SSL_CERT_FILE": os.devnull}


class ForkServer:
    """The fork server process and its client."""

    def __init__(self, sources: Path) -> None:
        self._sources = sources
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        environment = {name: v for name, v in os.environ.items() if not name.startswith("FAREBOX_")}
        path = os.pathsep.join([str(self._sources), str(ROOT)])
        self._process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-c",
                "from prove.fork_server import fork_on_request; fork_on_request()",
            ),
            env=environment | {"PYTHONPATH": path, **_NO_AUTHORITIES},
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

    async def serve(self, settings: Mapping[str, str], *, output: Path, log: Path) -> int:
        """Start `farebox serve` with these settings; return its process id.

        Its standard output goes to `output`, its standard error to `log`.
        """
        request = {"settings": dict(settings), "output": str(output), "log": str(log)}
        # read the answer to a request even when its caller was cancelled
        return await asyncio.shield(self._fork(request))

    async def _fork(self, request: Mapping[str, object]) -> int:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the fork server was not entered")
        async with self._lock:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()
            return int(await self._process.stdout.readline())


async def wait_until_ended(process_id: int) -> None:
    """Return once the process has ended or is a zombie."""
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


def fork_on_request() -> None:
    """Fork a service for each request until standard input ends."""
    import farebox.cli.channels
    import farebox.cli.serve  # noqa: F401 - imported for the children
    from farebox.outbound.connection import make_tls
    from farebox.skills.read_skills import packaged_skills

    packaged_skills(), make_tls(None)  # kept for the children
    gc.freeze()  # the children's collector leaves alone what all of them share
    signal.signal(signal.SIGCHLD, _reap_children)
    for line in sys.stdin:
        request = json.loads(line)
        set_death_signal = die_with_parent(signal.SIGKILL)
        process_id = os.fork()
        if process_id == 0:
            if set_death_signal is not None:
                set_death_signal()
            _serve_request(request)
        print(process_id, flush=True)


def _reap_children(signal_number: int, frame: FrameType | None) -> None:
    del signal_number, frame
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _serve_request(request: Mapping[str, object]) -> None:
    from farebox.cli.main import main
    from prove.loop_lag import watch_if_set

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    settings = request["settings"]
    if isinstance(settings, dict):
        os.environ.update(settings)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in ((1, "output"), (2, "log")):
        opened = os.open(str(request[name]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
    random.seed()
    watch_if_set()
    sys.argv = ["farebox", "serve"]
    main()
