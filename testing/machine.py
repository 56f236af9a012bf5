"""The local processes of a run: our service and Node.js programs, and the folders of both."""

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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast, overload

import aiohttp

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet
from testing.waiting import until

T = TypeVar("T")
ROOT: Final = Path(__file__).parents[1]
FAREBOX: Final = (sys.executable, "-c", "from farebox.cli.main import main; main()")
_READY_S: Final = 60.0
_STOP_S: Final = 15.0


class RunFailed(Exception):
    """The run cannot continue; the text names the failed part and its log."""


@overload
async def wait_until(
    condition: Callable[[], Awaitable[T | None]],
    what: str,
    *,
    within_s: float,
    pause_s: float = 0.1,
) -> T: ...


@overload
async def wait_until(
    condition: Callable[[], object], what: str, *, within_s: float, pause_s: float = 0.1
) -> object: ...


async def wait_until(
    condition: Callable[[], Any], what: str, *, within_s: float, pause_s: float = 0.1
) -> Any:
    """Return the first true value of `condition`, asked for every `pause_s` seconds.

    Raises:
        RunFailed: there is none in time; the text has `what`.
    """
    try:
        return await until(condition, within_s, pause_s=pause_s)
    except TimeoutError as error:
        raise RunFailed(f"{what}: not within {within_s:g} s") from error


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
    said = "nothing"

    async def is_ready() -> bool | None:
        nonlocal said
        with contextlib.suppress(aiohttp.ClientError):
            async with session.get(f"{url}/health/ready") as answer:
                said = await answer.text()
                return answer.status == 200
        return None

    async with aiohttp.ClientSession() as session:
        try:
            await wait_until_started(is_ready, process, log, name="the service")
        except RunFailed as fault:
            raise RunFailed(f"{fault}\nits last answer: {said}") from fault


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
        yield await wait_until_started(
            lambda: asyncio.to_thread(_read_url, log), process, log, name=script.name
        )


async def wait_until_started(
    read: Callable[[], Awaitable[T | None]],
    process: subprocess.Popen[bytes],
    log: Path,
    *,
    name: str,
) -> T:
    """Return the first true value of `read`, which says that a process serves.

    Raises:
        RunFailed: the process ended before, or does not serve within a minute.
    """
    ended = object()

    async def started() -> Any:
        return await read() or (ended if process.poll() is not None else None)

    with contextlib.suppress(TimeoutError):
        value = await until(started, _READY_S)
        if value is not ended:
            return cast("T", value)
    raise RunFailed(f"{name} did not start; its output:\n{tail(log)}")


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
