"""`farebox serve` as a child process."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.child import Child, Program, start_child
from farebox.local.faults import LocalFault

_START_S: Final = 60.0


class _ServiceAnnouncement(msgspec.Struct):
    url: str


@dataclass(frozen=True, slots=True)
class ServedNetwork:
    """The service's settings for one network."""

    rpc_url: str
    relayer: Secret[str]
    web_auth_contract: Address

    def settings(self, network: Network) -> dict[str, str]:
        """The settings as environment variables."""
        label = network.label.upper()
        return {
            f"FAREBOX_RPC_URL_{label}": self.rpc_url,
            f"FAREBOX_RELAYER_SECRET_{label}": self.relayer.reveal(),
            f"FAREBOX_WEB_AUTH_CONTRACT_{label}": self.web_auth_contract,
            f"FAREBOX_FACILITATOR_AUTH_{label}": "open",
        }


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The options of the service; port 0 takes a free one."""

    database: Secret[str]
    networks: Mapping[Network, ServedNetwork]
    signing: Secret[str]  # the seed of the account that signs challenges
    log: Path
    port: int = 0
    further: Mapping[str, str] = field(default_factory=dict, repr=False)  # settings


class Service:
    """The running service."""

    def __init__(self, child: Child, url: str) -> None:
        self._child = child
        self.url = url

    async def stop(self) -> None:
        """Stop the service gracefully and wait for its end."""
        await self._child.stop()

    async def wait(self) -> int:
        """Wait for the service to end; returns its exit code."""
        return await self._child.wait()


async def start_service(options: ServiceOptions) -> Service:
    """Start the service and return once it listens.

    Raises:
        LocalFault: it does not start; the message is its own.
    """
    program = Program(
        "The service",
        [sys.executable, "-m", "farebox", "serve"],
        environment=_environment(options),
        log=options.log.with_suffix(".err"),
        start_s=_START_S,
    )
    try:
        child = await start_child(program)
    except LocalFault as fault:
        raise LocalFault(str(fault).removeprefix("farebox: ")) from fault
    try:
        return Service(child, msgspec.json.decode(child.first_line, type=_ServiceAnnouncement).url)
    except msgspec.DecodeError as error:
        await child.stop()
        raise LocalFault("The service's first line of output cannot be read.") from error


def _environment(options: ServiceOptions) -> dict[str, str]:
    """The environment with these settings, without those of another service."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("FAREBOX_")
    }
    settings = {
        "FAREBOX_DATABASE_URL": options.database.reveal(),
        "FAREBOX_PORT": str(options.port),
        "FAREBOX_LOG_FILE": str(options.log),
        "FAREBOX_AUTH_SIGNING_SECRET": options.signing.reveal(),
        "FAREBOX_CATALOG_LOCAL": "1",  # the paid API is on this machine too
        "FAREBOX_RATE_PER_ADDRESS": "0",  # all requests come from one address
    }
    for network, served in options.networks.items():
        settings |= served.settings(network)
    return inherited | settings | dict(options.further)
