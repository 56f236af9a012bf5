"""The local processes of a run: our service, Node.js programs, and a Horizon stub."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet

ROOT: Final = Path(__file__).parents[1]
FAREBOX: Final = (sys.executable, "-c", "from farebox.cli.main import main; main()")
_READY_S: Final = 60.0
_STOP_S: Final = 15.0
_HORIZON_LEDGERS: Final = 20


class RunFailed(Exception):
    """The run cannot continue; the text names the failed part and its log."""


def say(line: str) -> None:
    """Print progress to standard error."""
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class ServedNetwork:
    """A network our service serves: its devnet and the account that pays the fees."""

    network: Network
    devnet: Devnet
    relayer: Secret[str]

    def settings(self) -> dict[str, str]:
        """Return the service's settings for this network."""
        suffix = self.network.name
        settings = {
            f"FAREBOX_RPC_URL_{suffix}": self.devnet.rpc_url,
            f"FAREBOX_RELAYER_SECRET_{suffix}": self.relayer.reveal(),
            f"FAREBOX_FACILITATOR_AUTH_{suffix}": "open",
        }
        if self.devnet.authority is not None:
            settings[f"FAREBOX_RPC_AUTHORITY_{suffix}"] = str(self.devnet.authority)
        return settings


def build_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without Farebox and Node.js settings, plus `extra`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FAREBOX_", "NODE_"))}
    if cache := os.environ.get("FAREBOX_CACHE"):
        kept["FAREBOX_CACHE"] = cache
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**kept, **extra}


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Create a folder for logs and databases; keep it when the run fails."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o711)  # PostgreSQL runs as another user when we are root
    try:
        yield folder
    except RunFailed:
        say(f"logs are kept in {folder}")
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def subfolder(folder: Path, name: str) -> Path:
    """Create a subfolder that PostgreSQL's user can traverse."""
    created = folder / name
    created.mkdir()
    created.chmod(0o711)
    return created


def free_port() -> int:
    """Find a free loopback port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.asynccontextmanager
async def run_process(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path = ROOT
) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Run a child process with its output in `log`; stop it at the end of the block."""
    process = _spawn(command, env=env, log=log, cwd=cwd)
    try:
        yield process
    finally:
        await asyncio.to_thread(_end, process)


def _spawn(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path
) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=build_environment(env),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops its children
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def our_service(
    networks: Sequence[ServedNetwork],
    *,
    folder: Path,
    prefix: Sequence[str] = (),
    program: Sequence[str] = FAREBOX,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[str]:
    """Start Farebox with its own PostgreSQL; yield its URL once ready, stop both at the end."""
    own = {"FAREBOX_DATA_DIR": str(folder / "data"), **(settings or {})}
    async with our_process(
        networks, folder=folder, prefix=prefix, program=program, settings=own
    ) as ours:
        yield ours.url


@dataclass(frozen=True, slots=True)
class OurProcess:
    """A running Farebox service."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path  # one JSON object a line


@contextlib.asynccontextmanager
async def our_process(
    networks: Sequence[ServedNetwork],
    *,
    folder: Path,
    name: str = "farebox",
    prefix: Sequence[str] = (),
    program: Sequence[str] = FAREBOX,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[OurProcess]:
    """Start Farebox and yield it once ready; its logs are `name`.log and `name`.jsonl in `folder`.

    `program` replaces the command and gets its arguments. An empty value leaves a setting out, as
    for an earlier version that does not know it.
    """
    port = free_port()
    log = folder / f"{name}.jsonl"
    env = {
        "FAREBOX_PORT": str(port),
        "FAREBOX_LOG_FILE": str(log),
        "FAREBOX_RATE_PER_ADDRESS": "0",  # the load comes from one address
        "FAREBOX_CONNECTIONS_PER_ADDRESS": "0",
        **(settings or {}),
    }
    for served in networks:
        env |= served.settings()
    env = {setting: value for setting, value in env.items() if value}
    url, output = f"http://127.0.0.1:{port}", folder / f"{name}.log"
    async with run_process([*prefix, *program, "serve"], env=env, log=output) as process:
        await _wait_until_ready(process, url, output)
        yield OurProcess(url, process, log)


async def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Return once the service answers ready.

    Raises:
        RunFailed: it ended, or was not ready within a minute.
    """
    deadline = time.monotonic() + _READY_S
    output = "nothing"
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{url}/health/ready") as answer:
                    output = await answer.text()
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.1)
    raise RunFailed(
        f"the service is not ready (its last answer: {output}); its output:\n{tail(log)}"
    )


@contextlib.asynccontextmanager
async def node_server(
    script: Path,
    *,
    env: Mapping[str, str],
    log: Path,
    prefix: Sequence[str] = (),
    preloads: Sequence[Path] = (),
) -> AsyncIterator[str]:
    """Run a Node.js program that first prints `{"event": "listening", "url": …}`; yield the URL."""
    command = [*prefix, *node_command(script, preloads)]
    async with run_process(command, env=env, log=log, cwd=script.parent) as process:
        deadline = time.monotonic() + _READY_S
        while (url := _read_url(log)) is None:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RunFailed(f"{script.name} did not start; its output:\n{tail(log)}")
            await asyncio.sleep(0.05)
        yield url


def _read_url(log: Path) -> str | None:
    first = log.read_text(errors="replace").partition("\n")
    return str(json.loads(first[0])["url"]) if first[1] and first[0].startswith("{") else None


def node_command(script: Path, preloads: Sequence[Path] = ()) -> list[str]:
    """Build the command of a script, with modules loaded before it."""
    return ["node", *[part for path in preloads for part in ("--require", str(path))], str(script)]


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def authority_bundle(networks: Sequence[ServedNetwork], path: Path) -> Path:
    """Write one file with every devnet's certificate authority, for Node.js."""
    found = [n.devnet.authority.read_text() for n in networks if n.devnet.authority]
    path.write_text("\n".join(found))
    return path


class HorizonStub:
    """Answers the one Horizon read of the x402 packages: recent ledgers, `cadence_s` apart."""

    def __init__(self, *, cadence_s: float, latency_ms: float = 0) -> None:
        self.reads = 0
        self._latency_s = latency_ms / 1000
        newest = datetime.now(UTC)
        records = [
            {
                "sequence": 1000 - i,
                "closed_at": f"{newest - timedelta(seconds=i * cadence_s):%Y-%m-%dT%H:%M:%S.%fZ}",
            }
            for i in range(_HORIZON_LEDGERS)
        ]
        links = {"next": {"href": ""}, "prev": {"href": ""}}
        self._page = json.dumps({"_links": links, "_embedded": {"records": records}}).encode()

    async def _answer(self, request: web.Request) -> web.Response:
        del request
        self.reads += 1
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        return web.Response(body=self._page, content_type="application/json")

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on loopback; yields the URL."""
        app = web.Application()
        app.router.add_get("/{host}/ledgers", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()
