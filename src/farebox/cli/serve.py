"""`farebox serve`: the service, from its settings to its last answer."""

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

import click
import orjson
import structlog
import uvicorn

from farebox.app.asgi import create_app
from farebox.app.logging import configure_logging, open_log
from farebox.app.settings import Settings
from farebox.cli.database import database_of, migrate_or_end
from farebox.cli.endings import (
    Broken,
    Ended,
    MustChange,
    Unavailable,
    file_advice,
    settings_or_end,
)
from farebox.cli.one_write import OneWriteProtocol
from farebox.kernel.errors import Outage, Refusal

BACKLOG: Final = 2048
KEEP_ALIVE_S: Final = 75  # longer than the pools of usual clients keep a connection
STOP_MARGIN_S: Final = 10  # to write down what is handed over and answer
log = structlog.get_logger()


@click.command("serve")
@click.option("--port", type=int, help="Instead of FAREBOX_PORT; 0 takes any free one.")
def command(port: int | None) -> None:
    """Run the facilitator until it is told to stop (Ctrl-C or SIGTERM).

    Configured by FAREBOX_* variables and the file that FAREBOX_CONFIG names; see check-settings.
    When it listens, one line of JSON on standard output says where.
    """
    environment = dict(os.environ)
    if port is not None:
        environment["FAREBOX_PORT"] = str(port)
    settings = settings_or_end(environment)
    listener = _bind(settings)
    try:
        descriptor = open_log(settings.log_file)
    except OSError as error:
        raise file_advice(
            error, settings.log_file or settings.data_dir, "FAREBOX_LOG_FILE"
        ) from error
    configure_logging(settings.log_level, descriptor)
    with database_of(settings) as url:
        for step in migrate_or_end(url):
            log.info("schema.migrated", step=step.name)
        _serve(replace(settings, database_url=url), listener)


def _bind(settings: Settings) -> socket.socket:
    """A socket with the address taken; nobody is answered before the service can."""
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
        raise MustChange(advice) from error
    return listener


class _Server(uvicorn.Server):
    """Announces itself when it listens, and ends with exit code 0 when it is told to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        announce: Callable[[], None],
        leave: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._announce, self._leave = announce, leave

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody new is taken on, everybody else is answered, then all is closed."""
        leaving = asyncio.ensure_future(self._leave())
        try:
            await super().shutdown(sockets)
        finally:
            leaving.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # without super(): it would raise the signal once more after the orderly end
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True

    def stop(self) -> None:
        """Answer what was begun, then end."""
        self.should_exit = True


def _serve(settings: Settings, listener: socket.socket) -> None:
    servers: list[_Server] = []
    app = create_app(settings, stop=lambda: servers[0].stop())
    gc.freeze()  # modules and services stay: no collection has to look through them
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=OneWriteProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(settings.stop_grace_s) + STOP_MARGIN_S,
    )
    servers.append(_Server(config, lambda: _announce(settings, listener), app.leave))
    # what was made at the start stays: do not walk it again at every collection
    gc.collect()
    gc.freeze()
    try:
        servers[0].run(sockets=[listener])
    except SystemExit as stopped:
        raise ending_of(app.failure) from stopped
    if app.failure is not None:
        raise ending_of(app.failure)
    log.info("service.stopped")


def _announce(settings: Settings, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    networks = [network.value for network in settings.networks]
    log.info("service.listening", host=settings.host, port=port, networks=networks)
    said = {"event": "listening", "url": f"http://{host}:{port}", "networks": networks}
    click.echo(orjson.dumps(said))


def ending_of(failure: Exception | None) -> Ended:
    """How the command ends when the service did not start or had to stop."""
    match failure:
        case Outage(message=message):
            return Unavailable(message)
        case Refusal(message=message):
            return MustChange(message)
        case _:
            return Broken("The service ended by a fault of its own; the log has its trace.")
