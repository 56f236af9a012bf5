"""`farebox serve`: run the service from its settings to the end of the graceful shutdown."""

import asyncio
import errno
import gc
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

import click
import orjson
import structlog
import uvicorn

from farebox.app.asgi import create_app
from farebox.app.logging import configure_logging, open_log
from farebox.app.setting_rules import is_loopback_host
from farebox.app.settings import Settings
from farebox.cli.capacity import processes_that_fit, raise_descriptor_limit
from farebox.cli.database import apply_migrations, database_of
from farebox.cli.exits import (
    CommandFailed,
    InternalFault,
    Unavailable,
    UserActionRequired,
    load_settings,
    unwritable_file,
)
from farebox.facilitator.budgets.budget_store import read_mean_fee
from farebox.facilitator.budgets.limit_sentences import describe_limits
from farebox.kernel.amounts import Stroops
from farebox.kernel.errors import CommandRefused, Outage, Refusal
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.web.connections import AllowedHosts, ConnectionLimits, OpenConnections
from farebox.web.http_protocol import BoundedHttpProtocol, bounded_protocol

BACKLOG: Final = 2048
SHUTDOWN_MARGIN_S: Final = 10  # to record what is handed over and to answer
log = structlog.get_logger()


@click.command("serve")
@click.option("--port", type=int, help="Instead of FAREBOX_PORT; 0 takes any free one.")
def command(port: int | None) -> None:
    """Run the facilitator until Ctrl-C or SIGTERM.

    Configured by FAREBOX_* variables and the file that FAREBOX_CONFIG names; see check-settings.
    When it listens, it prints its URL in one line of JSON on standard output.
    """
    environment = dict(os.environ)
    if port is not None:
        environment["FAREBOX_PORT"] = str(port)
    settings = load_settings(environment)
    listener = _bind(settings)
    connections = raise_descriptor_limit(settings)
    try:
        descriptor = open_log(settings.log_file)
    except OSError as error:
        raise unwritable_file(
            error, settings.log_file or settings.data_dir, "FAREBOX_LOG_FILE"
        ) from error
    configure_logging(settings.log_level, descriptor)
    with database_of(settings) as url:
        for step in apply_migrations(url):
            log.info("schema.migrated", step=step.name)
        _check_connections(settings, url)
        _log_limits(settings, url)
        protocol = _protocol(settings, connections)
        port = listener.getsockname()[1]  # the gateway's URLs name it
        _serve(replace(settings, database_url=url, port=port), listener, protocol)


def _check_connections(settings: Settings, url: Secret[str]) -> None:
    try:
        processes = processes_that_fit(url, settings.connections)
    except DatabaseUnavailable as outage:  # the start does not depend on the database
        log.warning("database.connections_not_counted", reason=outage.message)
        return
    write = log.warning if processes == 1 else log.info
    write("database.connections", most=settings.connections.total, processes_that_fit=processes)


def _log_limits(settings: Settings, url: Secret[str]) -> None:
    try:
        fees = asyncio.run(_mean_fees(settings, url))
    except DatabaseUnavailable:  # as above
        fees = {}
    for network, own in settings.networks.items():
        for sentence in describe_limits(network, own.budgets, fees.get(network)):
            log.info("sponsor.limit", network=network.value, sentence=sentence)


async def _mean_fees(settings: Settings, url: Secret[str]) -> dict[Network, Stroops | None]:
    is_pooled = settings.connections.is_pooled
    async with (
        Database(url, connections=1, is_pooled=is_pooled) as database,
        database.connection() as db,
    ):
        return {network: await read_mean_fee(db, network) for network in settings.networks}


def allowed_host_names(settings: Settings) -> AllowedHosts | None:
    """The host names that requests may carry; None allows every name.

    They are those of the loopback, the public URL and the setting. A service that other machines
    reach allows every name unless the setting lists some: DNS rebinding gains nothing there.
    """
    ingress, url = settings.ingress, settings.sign_in.public_url
    if not ingress.allowed_hosts and not is_loopback_host(settings.host):
        return None
    public = urlsplit(url).netloc if url else ""
    host = public.rpartition(":")[0] if public.rpartition(":")[2].isdigit() else public
    own = f"[{settings.host}]" if ":" in settings.host else settings.host
    return AllowedHosts([name for name in (*ingress.allowed_hosts, host, own) if name])


def _bind(settings: Settings) -> socket.socket:
    """Bind the address without listening, so that no connection is accepted before the start."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        where = f"Port {settings.port} on {settings.host}"
        if error.errno == errno.EADDRINUSE:
            advice = f"{where} is taken: stop what uses it, or set FAREBOX_PORT to another."
        else:
            reason = os.strerror(error.errno) if error.errno else "no such address"
            advice = f"{where} cannot be used ({reason}): set FAREBOX_PORT or FAREBOX_HOST."
        raise UserActionRequired(advice) from error
    return listener


class _AnnouncingServer(uvicorn.Server):
    """Announces when it listens, and exits with code 0 after a signal."""

    def __init__(
        self,
        config: uvicorn.Config,
        announce: Callable[[], None],
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._announce, self._drain = announce, drain

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, answer open requests, then close everything."""
        draining = asyncio.ensure_future(self._drain())
        try:
            await super().shutdown(sockets)
        finally:
            draining.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # without super(), which would raise the signal again after the shutdown
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True

    def stop(self) -> None:
        """Start the graceful shutdown."""
        self.should_exit = True


def _protocol(settings: Settings, connections: int) -> type[BoundedHttpProtocol]:
    """Make the HTTP protocol with the limits of connections and the allowed host names."""
    wanted = settings.ingress.connections
    if connections < wanted:
        log.warning("connections.fewer", most=connections, wanted=wanted)
    limits = ConnectionLimits(
        connections, settings.ingress.connections_per_address, settings.ingress.trusted_proxies
    )
    return bounded_protocol(OpenConnections(limits), allowed_host_names(settings))


def _serve(
    settings: Settings, listener: socket.socket, protocol: type[BoundedHttpProtocol]
) -> None:
    servers: list[_AnnouncingServer] = []
    try:
        app = create_app(settings, stop=lambda: servers[0].stop())
    except CommandRefused as refused:
        raise command_failure(refused) from refused
    gc.freeze()  # modules and services stay: exclude them from collections
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=int(settings.stop_grace_s) + SHUTDOWN_MARGIN_S,
    )
    servers.append(_AnnouncingServer(config, lambda: _announce(settings, listener), app.leave))
    gc.collect()
    gc.freeze()
    try:
        servers[0].run(sockets=[listener])
    except SystemExit as stopped:
        raise command_failure(app.failure) from stopped
    if app.failure is not None:
        raise command_failure(app.failure)
    log.info("service.stopped")


def _announce(settings: Settings, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    networks = [network.value for network in settings.networks]
    log.info("service.listening", host=settings.host, port=port, networks=networks)
    announcement = {"event": "listening", "url": f"http://{host}:{port}", "networks": networks}
    click.echo(orjson.dumps(announcement))


def command_failure(failure: Exception | None) -> CommandFailed:
    """Convert the failure that stopped the service to the end of the command."""
    match failure:
        case Outage(message=message):
            return Unavailable(message)
        case Refusal(message=message):
            return UserActionRequired(message)
        case _:
            return InternalFault(
                "The service failed with an internal error; the log has its trace."
            )
