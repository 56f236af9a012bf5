"""How a command ends when it cannot go on: one sentence on standard error and an exit code."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from farebox.app.configuration import Fault, SettingsRefused, read_settings
from farebox.app.settings import Settings


class Ended(click.ClickException):
    """The command ends here; `message` says what to do."""

    def show(self, file: IO[Any] | None = None) -> None:
        """The sentence is on standard error."""
        click.echo(f"farebox: {self.message}", err=True)


class Unavailable(Ended):
    """Something outside is away; the same command may work later."""

    exit_code = 1


class MustChange(Ended):
    """The person must change a setting, an argument or the machine first."""

    exit_code = 2


class Broken(Ended):
    """A fault of ours."""

    exit_code = 70


def settings_or_end(
    environment: Mapping[str, str], *, needs_network: bool = True, is_to_serve: bool = True
) -> Settings:
    """The settings, or the end of the command with every fault on a line of its own."""
    try:
        return read_settings(environment, needs_network=needs_network, is_to_serve=is_to_serve)
    except SettingsRefused as refused:
        raise MustChange(describe_faults(refused.faults)) from None


def describe_faults(faults: tuple[Fault, ...]) -> str:
    """A line for each fault, none with a value in it."""
    count = len(faults)
    heading = f"{count} setting{'s' if count != 1 else ''} must be changed:"
    return "\n".join([heading, *(f"  {fault}" for fault in faults)])


def file_advice(error: OSError, path: Path, setting: str) -> Ended:
    """The end of a command that could not write `path`, which `setting` names."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MustChange(f"The disk that holds {path} is full: free some, or set {setting}.")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return MustChange(f"{path} cannot be written ({reason}): allow it, or set {setting}.")
