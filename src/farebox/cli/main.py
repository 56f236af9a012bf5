"""The `farebox` command: each subcommand is imported only when it is called."""

import importlib
import signal
from importlib import metadata
from types import FrameType, MappingProxyType
from typing import Final

import click

# name: the module under farebox.cli whose `command` it is
_MODULES: Final = MappingProxyType(
    {
        "serve": "serve",
        "migrate": "migrate",
        "check-settings": "check_settings",
        "demo": "demo",
        "devnet": "devnet",
        "wallet": "wallet",
        "pay": "pay",
        "channels": "channels",
        "sponsor": "sponsor",
        "settlements": "settlements",
        "automation": "automation",
        "vault": "vault",
        "auth": "auth",
    }
)


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _MODULES.get(cmd_name)
        if module is None:
            return None
        command = importlib.import_module(f"farebox.cli.{module}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"farebox.cli.{module}.command is not a command")
        return command


def _version() -> str:
    try:
        return metadata.version("farebox")
    except metadata.PackageNotFoundError:  # run from a checkout that was not installed
        return "unknown"


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="farebox")
def command() -> None:
    """Farebox: an x402 payment facilitator for Stellar."""


def main() -> None:
    """Run the command line and end the process."""
    _end_on_signals()
    command.main(prog_name="farebox")


def _end_on_signals() -> None:
    """End every command on SIGINT, SIGTERM and SIGHUP as on Ctrl-C: by `KeyboardInterrupt`.

    A shell without job control starts its background jobs with SIGINT ignored; a signal that is
    sent to one must not be lost. SIGHUP stays ignored where it is (`nohup`).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    signal.raise_signal(signal.SIGINT)  # asyncio cancels the command's work on this one
