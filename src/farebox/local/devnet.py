"""A devnet as a child process, controlled through its admin API."""

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
    """The close time in ledger headers: in milliseconds (protocol 30), or in whole seconds."""

    MS = "ms"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class DevnetOptions:
    """The options of a devnet; port 0 takes a free one, `close_ms` None: only `close` closes."""

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
    journal: Path | None = None  # the file that is replayed at the next start
    ledger_meta_bytes: int | None = None  # least size of a ledger's metadataXdr before base64
    rpc_behaviour: str | None = None  # release of Stellar RPC to copy: "25", "27.0", "28" or "30"
    max_transactions_limit: int | None = None  # largest page of getTransactions
    no_simulation_events: bool = False
    extra: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """The arguments of the command line."""
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


class _DevnetAnnouncement(msgspec.Struct):
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
    """Accounts that the devnet has created: payers and payees with trustlines for an asset."""

    ledger: int
    code: str
    issuer: Address
    asset: Address
    native: Address
    payers: tuple[Party, ...]
    payees: tuple[Party, ...]


class Devnet:
    """A running devnet; it ends with this process."""

    def __init__(self, child: Child, listening: _DevnetAnnouncement) -> None:
        self._child = child
        self.rpc_url = listening.rpc
        self.admin_url = listening.admin
        self.authority = Path(listening.authority) if listening.authority else None

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def is_running(self) -> bool:
        """Whether the child runs."""
        return self._child.is_running()

    async def stop(self) -> None:
        """Stop the child and wait for its end; a second call does nothing."""
        await self._child.stop()

    async def scene(
        self, *, payers: int, payees: int, payer_units: int = 1_000_000_000_000
    ) -> Scene:
        """Create `payers` with `payer_units` each, and `payees` with none."""
        return await ask_scene(
            self.admin_url, payers=payers, payees=payees, payer_units=payer_units
        )

    async def close(self, count: int = 1, *, empty: bool = False) -> int:
        """Close `count` ledgers now; returns the latest sequence.

        `empty` leaves out queued transactions, which are dropped after four such ledgers.
        """
        response = msgspec.json.decode(
            await self._admin("/close", {"count": count, "empty": empty})
        )
        return int(response["ledger"])

    async def jump(self, seconds: int, *, ledgers: int = 1) -> int:
        """Move the network's clock forward and close empty ledgers; returns the sequence."""
        body = {"seconds": seconds, "ledgers": ledgers}
        return int(msgspec.json.decode(await self._admin("/jump", body))["ledger"])

    async def land(self, envelope: Secret[bytes]) -> str:
        """Include an envelope in the next ledger without the queue; returns its hash.

        Raises:
            LocalFault: the envelope is not valid.
        """
        text = base64.b64encode(envelope.reveal()).decode()
        return str(msgspec.json.decode(await self._admin("/land", {"envelope": text}))["hash"])

    async def land_wrapped(self, tx_hash: str) -> str:
        """Include the queued envelope of that hash in the next ledger, in a foreign fee bump."""
        return str(msgspec.json.decode(await self._admin("/land", {"wrap": tx_hash}))["hash"])

    async def fault(self, effect: Mapping[str, object], **rule: object) -> int:
        """Set a fault as described in docs/devnet.md; returns its number.

        Raises:
            LocalFault: the effect or the rule is unknown.
        """
        response = await self._admin("/faults", {"effect": dict(effect), **rule})
        return int(msgspec.json.decode(response)["id"])

    async def clear_faults(self, number: int | None = None) -> int:
        """Remove one fault, or all of them; returns how many."""
        path = "/faults" if number is None else f"/faults?id={number}"
        response = await _request(self.admin_url, path, None, method="DELETE")
        return int(msgspec.json.decode(response)["cleared"])

    async def counts(self) -> dict[str, int]:
        """Read the number of RPC calls by method since the last reset."""
        return msgspec.json.decode(await self._admin("/counts", None), type=dict[str, int])

    async def answer_bytes(self) -> dict[str, int]:
        """Read the bytes of results and errors by method since the last reset."""
        return msgspec.json.decode(await self._admin("/bytes", None), type=dict[str, int])

    async def reset_counts(self) -> None:
        """Reset the counters of RPC calls and bytes."""
        await self._admin("/counts/reset", {})

    async def wait(self) -> int:
        """Wait for the child to end; returns its exit code."""
        return await self._child.wait()

    async def _admin(self, path: str, body: object) -> bytes:
        return await _request(self.admin_url, path, body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def ask_scene(admin_url: str, *, payers: int, payees: int, payer_units: int) -> Scene:
    """Create accounts on the devnet behind `admin_url`; returns the new ones.

    Raises:
        LocalFault: it does not answer or refuses the request.
    """
    request = {"payers": payers, "payees": payees, "payer_units": str(payer_units)}
    raw = await _request(admin_url, "/scene", request)
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


async def _request(admin_url: str, path: str, body: object, *, method: str | None = None) -> bytes:
    timeout = aiohttp.ClientTimeout(total=_ADMIN_S)
    method = method or ("GET" if body is None else "POST")
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, admin_url + path, json=body) as response,
        ):
            raw = await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise LocalFault(f"The devnet does not answer on {admin_url}.") from error
    if response.status != 200:
        reason = raw.decode(errors="replace").strip()
        raise LocalFault(f"The devnet refused {path}: {reason}")
    return raw


def _parties(bodies: list[_PartyBody]) -> tuple[Party, ...]:
    return tuple(Party(Address(body.address), Secret(body.secret)) for body in bodies)


async def start_devnet(
    options: DevnetOptions, *, binary: Path | None = None, progress: Progress | None = None
) -> Devnet:
    """Start a devnet and return once it listens; the binary is built first if needed.

    Raises:
        LocalFault: it cannot be built or started; the message says what to do.
    """
    path = binary or await built_devnet(progress or _ignore_progress)
    command = [str(path), *options.arguments()]
    program = Program("The devnet", command, log=options.log, ends_with_stdin=True)
    child = await start_child(program)
    try:
        return Devnet(child, msgspec.json.decode(child.first_line, type=_DevnetAnnouncement))
    except msgspec.DecodeError as error:
        await child.stop()
        raise LocalFault("The devnet's first line of output cannot be read.") from error


def _ignore_progress(line: str) -> None:
    del line
