"""Runs the snippets of pages in order, in one folder and one shell environment."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from e2e.snippets import Kind, Snippet
from testing.machine import RunFailed, build_environment, say

_SNIPPET_S: Final = 180.0
_SERVER_S: Final = 30.0
_POLL_S: Final = 0.1
_EXPORTED: Final = re.compile(r"^export ([A-Z_]+)=", re.MULTILINE)
_FAREBOX: Final = '#!/bin/sh\nexec "{}" -c "from farebox.cli.main import main; main()" "$@"\n'
_ENVIRONMENT: Final = ".environment"


class PageRunner:
    """Runs snippets and remembers which failed.

    `given` are the values of variables that the reader of a page sets; `surroundings` are
    further variables; `by_hand` are the commands for manual steps; `replaced` maps texts of a page
    to their replacements. Close it to stop the servers.
    """

    def __init__(
        self,
        folder: Path,
        *,
        given: Mapping[str, str],
        surroundings: Mapping[str, str],
        by_hand: Mapping[str, str],
        replaced: Mapping[str, str],
    ) -> None:
        self.folder = folder
        self.count = 0
        self.failed: list[str] = []
        self._given, self._by_hand, self._replacements = given, by_hand, replaced
        tools = folder / ".bin"
        tools.mkdir()
        (tools / "farebox").write_text(_FAREBOX.format(sys.executable))
        (tools / "farebox").chmod(0o755)
        self._environment = build_environment(surroundings)
        self._environment["PATH"] = f"{tools}{os.pathsep}{self._environment['PATH']}"
        self._servers: list[asyncio.subprocess.Process] = []

    async def run(self, page: str, snippets: Sequence[Snippet]) -> None:
        """Run a page's snippets until one fails; record the failure."""
        for snippet in snippets:
            self.count += 1
            place = f"{page}:{snippet.line}"
            say(f"{place} {snippet.kind.value} {snippet.name}".rstrip())
            fault = await self._step(snippet)
            if fault is not None:
                say(f"{place} failed: {fault}")
                self.failed.append(f"{place}: {fault}")
                return

    async def aclose(self) -> None:
        """Stop the servers that snippets have started."""
        for server in self._servers:
            if server.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGTERM)
                await server.wait()

    async def _step(self, snippet: Snippet) -> str | None:
        """Run one snippet; return its fault, or None."""
        text = self._substitute(snippet.text)
        match snippet.kind:
            case Kind.FILE:
                (self.folder / snippet.name).write_text(text)
                return None
            case Kind.GIVEN:
                return self._set_given(text)
            case Kind.SERVER:
                return await self._serve(text)
            case Kind.BY_HAND:
                return await self._execute(self._by_hand[snippet.name])
            case Kind.RUN:
                return await self._execute(text)

    def _substitute(self, text: str) -> str:
        for original, replacement in self._replacements.items():
            text = text.replace(original, replacement)
        return text

    def _set_given(self, text: str) -> str | None:
        names = _EXPORTED.findall(text)
        if unknown := sorted(set(names) - set(self._given)):
            return f"no value is known for {', '.join(unknown)}"
        self._environment |= {name: self._given[name] for name in names}
        return None

    async def _execute(self, text: str) -> str | None:
        """Run commands to their end and keep exported variables."""
        kept = self.folder / _ENVIRONMENT
        process = await self._shell(f"{text}\nenv -0 > {_ENVIRONMENT}\n")
        try:
            output, _ = await asyncio.wait_for(process.communicate(), _SNIPPET_S)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            return f"not done within {_SNIPPET_S:.0f} s"
        if process.returncode:
            return f"exit {process.returncode}: {output.decode(errors='replace').strip()[-600:]}"
        pairs = (each.partition("=") for each in kept.read_text().split("\0") if each)
        self._environment = {name: value for name, _, value in pairs}
        return None

    async def _serve(self, text: str) -> str | None:
        """Start a server; it has started when it prints a first line."""
        server = await self._shell(text)
        self._servers.append(server)
        if server.stdout is None:
            raise RunFailed("the server's output cannot be read")
        try:
            first = await asyncio.wait_for(server.stdout.readline(), _SERVER_S)
        except TimeoutError:
            return f"printed nothing within {_SERVER_S:.0f} s"
        await asyncio.sleep(_POLL_S)  # time in which a server that fails at its start ends
        if server.returncode is not None or not first:
            rest = await server.stdout.read()
            return f"ended: {(first + rest).decode(errors='replace').strip()[-600:]}"
        return None

    async def _shell(self, text: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "bash",
            "-euo",
            "pipefail",
            "-c",
            text,
            cwd=self.folder,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
