"""A devnet as a child process: start it, read where it listens, drive it, stop it."""

import asyncio
import subprocess
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Final, Self

import aiohttp
import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.local.devnet_binary import Progress, devnet_binary
from farebox.local.faults import LocalFault, explain_disk

__all__ = [
    "Devnet",
    "DevnetOptions",
    "HeaderForm",
    "Party",
    "Scene",
    "ask_scene",
    "devnet_binary",
    "start_devnet",
]

_START_S: Final = 20.0
_STOP_S: Final = 5.0
_ADMIN_S: Final = 60.0


class HeaderForm(StrEnum):
    """How ledger headers spell the close time: protocol 30's milliseconds, or whole seconds."""

    MS = "ms"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class DevnetOptions:
    """What a devnet is started with; port 0 takes a free one, `close_ms` None closes by hand."""

    passphrase: str
    close_ms: int | None = 5000
    header: HeaderForm = HeaderForm.MS
    limits: str = "mainnet"
    latency_ms: int = 0
    tls: Path | None = None
    threads: int | None = None
    port: int = 0
    admin_port: int = 0
    log: Path | None = None
    extra: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """The command line after the binary's name."""
        close = "manual" if self.close_ms is None else str(self.close_ms)
        arguments = ["--passphrase", self.passphrase, "--close-ms", close]
        arguments += ["--header", self.header, "--limits", self.limits]
        arguments += ["--latency-ms", str(self.latency_ms)]
        arguments += ["--port", str(self.port), "--admin-port", str(self.admin_port)]
        if self.tls is not None:
            arguments += ["--tls", str(self.tls)]
        if self.threads is not None:
            arguments += ["--threads", str(self.threads)]
        return [*arguments, *self.extra, "--stop-with-stdin"]


class _Listening(msgspec.Struct):
    event: str
    rpc: str
    admin: str
    authority: str | None = None


class _AssetBody(msgspec.Struct):
    code: str
    issuer: str
    contract: str


class _PartyBody(msgspec.Struct):
    address: str
    secret: str


class _SceneBody(msgspec.Struct):
    ledger: int
    asset: _AssetBody
    native: str
    payers: list[_PartyBody]
    payees: list[_PartyBody]


@dataclass(frozen=True, slots=True)
class Party:
    """A funded account of a scene, with the key that signs for it."""

    address: Address
    secret: Secret[str]


@dataclass(frozen=True, slots=True)
class Scene:
    """What the devnet set up: an asset under its public issuer, payers and payees holding it."""

    ledger: int
    code: str
    issuer: Address
    asset: Address
    native: Address
    payers: tuple[Party, ...]
    payees: tuple[Party, ...]


class Devnet:
    """A running devnet; closing it, or the death of this process, ends the child."""

    def __init__(self, process: subprocess.Popen[bytes], listening: _Listening) -> None:
        self._process = process
        self.rpc_url = listening.rpc
        self.admin_url = listening.admin
        self.authority = Path(listening.authority) if listening.authority else None

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the child still runs."""
        return self._process.poll() is None

    async def stop(self) -> None:
        """End the child and wait until it is gone; a second call does nothing."""
        await asyncio.to_thread(_end, self._process)

    async def scene(
        self, *, payers: int, payees: int, payer_units: int = 1_000_000_000_000
    ) -> Scene:
        """Add `payers` holding `payer_units` each and `payees` holding none; return these alone."""
        return await ask_scene(
            self.admin_url, payers=payers, payees=payees, payer_units=payer_units
        )

    async def close(self, count: int = 1) -> int:
        """Close `count` ledgers now; returns the latest sequence."""
        answer = msgspec.json.decode(await self._admin("/close", {"count": count}))
        return int(answer["ledger"])

    async def counts(self) -> dict[str, int]:
        """RPC calls by method since the last reset."""
        return msgspec.json.decode(await self._admin("/counts", None), type=dict[str, int])

    async def reset_counts(self) -> None:
        """Start counting RPC calls from nothing."""
        await self._admin("/counts/reset", {})

    async def wait(self) -> int:
        """Return once the child has ended, with its exit code."""
        return await asyncio.to_thread(self._process.wait)

    async def _admin(self, path: str, body: object) -> bytes:
        return await _ask(self.admin_url, path, body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def ask_scene(admin_url: str, *, payers: int, payees: int, payer_units: int) -> Scene:
    """Have the devnet behind `admin_url` add accounts; only the new ones are returned.

    Raises:
        LocalFault: it does not answer or refuses.
    """
    wanted = {"payers": payers, "payees": payees, "payer_units": str(payer_units)}
    raw = await _ask(admin_url, "/scene", wanted)
    body = msgspec.json.decode(raw, type=_SceneBody)
    return Scene(
        ledger=body.ledger,
        code=body.asset.code,
        issuer=Address(body.asset.issuer),
        asset=Address(body.asset.contract),
        native=Address(body.native),
        payers=_parties(body.payers),
        payees=_parties(body.payees),
    )


async def _ask(admin_url: str, path: str, body: object) -> bytes:
    timeout = aiohttp.ClientTimeout(total=_ADMIN_S)
    method = "GET" if body is None else "POST"
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, admin_url + path, json=body) as answer,
        ):
            raw = await answer.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise LocalFault(f"The devnet does not answer on {admin_url}.") from error
    if answer.status != 200:
        said = raw.decode(errors="replace").strip()
        raise LocalFault(f"The devnet refused {path}: {said}")
    return raw


def _parties(bodies: list[_PartyBody]) -> tuple[Party, ...]:
    return tuple(Party(Address(body.address), Secret(body.secret)) for body in bodies)


async def start_devnet(
    options: DevnetOptions, *, binary: Path | None = None, progress: Progress | None = None
) -> Devnet:
    """Start a devnet and return once it listens; the binary is built first where needed.

    Raises:
        LocalFault: it cannot be built or started; the sentence says what to do.
    """
    program = binary or await asyncio.to_thread(devnet_binary, progress or _say_nothing)
    with _log_of(options) as log:
        process = _spawn([str(program), *options.arguments()], log)
        try:
            reading = asyncio.to_thread(_first_line, process)
            listening = _read_listening(await asyncio.wait_for(reading, _START_S))
        except BaseException as error:
            _end(process)
            if isinstance(error, TimeoutError | msgspec.DecodeError):
                raise _explain_start(log) from error
            raise
    return Devnet(process, listening)


def _say_nothing(line: str) -> None:
    del line


def _log_of(options: DevnetOptions) -> IO[bytes]:
    if options.log is None:
        return tempfile.TemporaryFile("w+b")
    try:
        return options.log.open("w+b")
    except OSError as error:
        raise explain_disk(error, doing="starting the devnet") from error


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # the system closes it when this process dies: the child stops
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops its children
        )
    except OSError as error:
        raise LocalFault(f"The devnet cannot be run: {command[0]}: {error.strerror}.") from error


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    return process.stdout.readline() if process.stdout else b""


def _read_listening(line: bytes) -> _Listening:
    return msgspec.json.decode(line, type=_Listening)


def _explain_start(log: IO[bytes]) -> LocalFault:
    log.seek(0)
    lines = log.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return LocalFault(said[-1] if said else "The devnet ended before it listened, saying nothing.")


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
    if process.stdout is not None:
        process.stdout.close()
