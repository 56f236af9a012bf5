"""`farebox serve` as a process that a test may kill without a warning."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, Self

import aiohttp
import msgspec

from support.command import first_line, fork_farebox
from support.payments import Json
from testing.waiting import until

SOURCES: Final = Path(__file__).parents[2] / "src"
_START_S: Final = 60.0
_STOP_S: Final = 40.0
_SHOWN: Final = 4000  # bytes of what it wrote before it ended


class ServeProcess:
    """The service with exactly these settings, listening on a free port while it is entered."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings) | {"FAREBOX_PORT": "0"}
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed on leaving
        self.url = ""

    async def __aenter__(self) -> Self:
        line = await self._start()
        self.url = msgspec.json.decode(line, type=Json)["url"]
        self._session = aiohttp.ClientSession(trust_env=False)
        await self._until_ready()
        return self

    async def _start(self) -> bytes:
        """Start the process; return the first line that it prints."""
        kept = {name: v for name, v in os.environ.items() if not name.startswith("FAREBOX_")}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "farebox", "serve"),
            env=kept | {"PYTHONPATH": str(SOURCES)} | self._settings,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._stderr,
        )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), _START_S)
        assert line, f"it ended with {await self._process.wait()}: {self._last_words()}"
        return line

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        await self.kill()
        self._stderr.close()

    def _last_words(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-_SHOWN:].decode(errors="replace")

    async def kill(self) -> None:
        """Kill the process and wait for its end."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def stop(self) -> int:
        """Send SIGTERM and wait for the end; return the exit code."""
        assert self._process is not None
        self._process.terminate()
        return await asyncio.wait_for(self._process.wait(), _STOP_S)

    async def settle(self, body: object) -> Json:
        """Settle; return the outcome; raises as `post`."""
        return await self.post("/settle", body)

    async def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Json:
        """Post a JSON body; return that of the response.

        Raises:
            aiohttp.ClientError: the process died before it answered.
        """
        assert self._session is not None
        async with self._session.post(self.url + path, json=body, headers=headers) as answer:
            return msgspec.json.decode(await answer.read(), type=Json)

    async def _until_ready(self) -> None:
        session = self._session
        assert session is not None

        async def is_ready() -> bool:
            async with session.get(self.url + "/health/ready") as answer:
                return answer.status == 200

        await until(is_ready)


class ForkedServeProcess(ServeProcess):
    """The service as a process that is forked from one with its imports, which take seconds."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._folder = tempfile.TemporaryDirectory()
        self._fork: BaseProcess | None = None

    async def __aenter__(self) -> Self:
        try:
            return await super().__aenter__()
        except BaseException:
            await self.__aexit__()  # nothing else ends a process that did not become ready
            raise

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        self._folder.cleanup()

    async def _start(self) -> bytes:
        out, err = Path(self._folder.name) / "out", Path(self._folder.name) / "err"
        start = partial(fork_farebox, "serve", settings=self._settings, out=out, err=err)
        fork = self._fork = await asyncio.to_thread(start)
        line = await until(lambda: first_line(fork, out, err), _START_S)
        assert isinstance(line, str)
        return line.encode()

    async def kill(self) -> None:
        """Kill the process and wait for its end."""
        if self._fork is not None:
            self._fork.kill()
            await asyncio.to_thread(self._fork.join)

    async def stop(self) -> int:
        """Send SIGTERM and wait for the end; return the exit code."""
        assert self._fork is not None
        self._fork.terminate()
        await asyncio.to_thread(self._fork.join, _STOP_S)
        assert self._fork.exitcode is not None
        return self._fork.exitcode
