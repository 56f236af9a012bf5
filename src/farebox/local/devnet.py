"""A devnet as a child process: start it, read where it listens, drive it, stop it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

import aiohttp
import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.local.child import Child, Program, start_child
from farebox.local.devnet_binary import Progress, built_devnet, devnet_binary
from farebox.local.faults import LocalFault

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
    journal: Path | None = None  # what decides the ledgers, replayed at the next start
    ledger_meta_bytes: int | None = None  # least size of a ledger's metadataXdr before base64
    rpc_behaviour: str | None = None  # release of Stellar RPC to copy: "25", "27.0", "28" or "30"
    max_transactions_limit: int | None = None  # largest page of getTransactions
    no_simulation_events: bool = False
    extra: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """The command line after the binary's name."""
        close = "manual" if self.close_ms is None else str(self.close_ms)
        arguments = ["--passphrase", self.passphrase, "--close-ms", close]
        arguments += ["--header", self.header, "--limits", self.limits]
        arguments += ["--latency-ms", str(self.latency_ms)]
        arguments += ["--port", str(self.port), "--admin-port", str(self.admin_port)]
        optional = {
            "--tls": self.tls,
            "--threads": self.threads,
            "--journal": self.journal,
            "--ledger-meta-bytes": self.ledger_meta_bytes,
            "--rpc-behaviour": self.rpc_behaviour,
            "--max-transactions-limit": self.max_transactions_limit,
        }
        for name, value in optional.items():
            if value is not None:
                arguments += [name, str(value)]
        if self.no_simulation_events:
            arguments.append("--no-simulation-events")
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

    def __init__(self, child: Child, listening: _Listening) -> None:
        self._child = child
        self.rpc_url = listening.rpc
        self.admin_url = listening.admin
        self.authority = Path(listening.authority) if listening.authority else None

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def is_running(self) -> bool:
        """Whether the child still runs."""
        return self._child.is_running()

    async def stop(self) -> None:
        """End the child and wait until it is gone; a second call does nothing."""
        await self._child.stop()

    async def scene(
        self, *, payers: int, payees: int, payer_units: int = 1_000_000_000_000
    ) -> Scene:
        """Add `payers` holding `payer_units` each and `payees` holding none; return these alone."""
        return await ask_scene(
            self.admin_url, payers=payers, payees=payees, payer_units=payer_units
        )

    async def close(self, count: int = 1, *, empty: bool = False) -> int:
        """Close `count` ledgers now; returns the latest sequence.

        `empty` leaves out what waits, which is dropped after four such ledgers.
        """
        answer = msgspec.json.decode(await self._admin("/close", {"count": count, "empty": empty}))
        return int(answer["ledger"])

    async def jump(self, seconds: int, *, ledgers: int = 1) -> int:
        """Move the network's clock forward and close empty ledgers; the latest sequence."""
        wanted = {"seconds": seconds, "ledgers": ledgers}
        return int(msgspec.json.decode(await self._admin("/jump", wanted))["ledger"])

    async def land(self, envelope: Secret[bytes]) -> str:
        """Put a valid envelope into the next ledger past the queue; its hash.

        Raises:
            LocalFault: it is not valid now.
        """
        text = base64.b64encode(envelope.reveal()).decode()
        return str(msgspec.json.decode(await self._admin("/land", {"envelope": text}))["hash"])

    async def land_wrapped(self, tx_hash: str) -> str:
        """Put the waiting envelope of that hash into the next ledger in a stranger's fee bump."""
        return str(msgspec.json.decode(await self._admin("/land", {"wrap": tx_hash}))["hash"])

    async def fault(self, effect: Mapping[str, object], **rule: object) -> int:
        """Set a fault, as the devnet's page describes them; its number.

        Raises:
            LocalFault: the devnet knows no such effect or rule.
        """
        answer = await self._admin("/faults", {"effect": dict(effect), **rule})
        return int(msgspec.json.decode(answer)["id"])

    async def clear_faults(self, number: int | None = None) -> int:
        """Take one fault back, or all of them; how many there were."""
        path = "/faults" if number is None else f"/faults?id={number}"
        answer = await _ask(self.admin_url, path, None, method="DELETE")
        return int(msgspec.json.decode(answer)["cleared"])

    async def counts(self) -> dict[str, int]:
        """RPC calls by method since the last reset."""
        return msgspec.json.decode(await self._admin("/counts", None), type=dict[str, int])

    async def answer_bytes(self) -> dict[str, int]:
        """Bytes of results and errors by method since the last reset."""
        return msgspec.json.decode(await self._admin("/bytes", None), type=dict[str, int])

    async def reset_counts(self) -> None:
        """Start counting RPC calls and answer bytes from nothing."""
        await self._admin("/counts/reset", {})

    async def wait(self) -> int:
        """Return once the child has ended, with its exit code."""
        return await self._child.wait()

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


async def _ask(admin_url: str, path: str, body: object, *, method: str | None = None) -> bytes:
    timeout = aiohttp.ClientTimeout(total=_ADMIN_S)
    method = method or ("GET" if body is None else "POST")
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
    path = binary or await built_devnet(progress or _say_nothing)
    command = [str(path), *options.arguments()]
    program = Program("The devnet", command, log=options.log, ends_with_stdin=True)
    child = await start_child(program)
    try:
        return Devnet(child, msgspec.json.decode(child.first_line, type=_Listening))
    except msgspec.DecodeError as error:
        await child.stop()
        raise LocalFault("The devnet's first words are not where it listens.") from error


def _say_nothing(line: str) -> None:
    del line
