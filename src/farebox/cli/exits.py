"""Run a command's work, and end it with one sentence on standard error and an exit code."""

import asyncio
import errno
import os
import signal
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import click

from farebox.app.configuration import SettingFault, SettingsRefused, read_settings
from farebox.app.settings import Settings
from farebox.kernel.errors import Outage, Refusal
from farebox.local.faults import LocalFault

T = TypeVar("T")
PORT: Final = click.IntRange(0, 65_535)  # of an option that names a port; 0 takes a free one


class CommandFailed(click.ClickException):
    """The command ends; `message` says what to do."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the message to standard error."""
        click.echo(f"farebox: {self.message}", err=True)


class Unavailable(CommandFailed):
    """An external system is unavailable; the same command may work later."""

    exit_code = 1


class UserActionRequired(CommandFailed):
    """The user must change a setting, an argument or the machine first."""

    exit_code = 2


class InternalFault(CommandFailed):
    """A bug in Farebox."""

    exit_code = 70


def load_settings(
    environment: Mapping[str, str], *, needs_network: bool = True, is_to_serve: bool = True
) -> Settings:
    """Read the settings.

    Raises:
        UserActionRequired: they are invalid; the message has a line for each fault.
    """
    try:
        return read_settings(environment, needs_network=needs_network, is_to_serve=is_to_serve)
    except SettingsRefused as refused:
        raise UserActionRequired(describe_faults(refused.faults)) from None


def describe_faults(faults: tuple[SettingFault, ...]) -> str:
    """Describe each fault in a line that shows no value."""
    count = len(faults)
    heading = f"{count} setting{'s' if count != 1 else ''} must be changed:"
    return "\n".join([heading, *(f"  {fault}" for fault in faults)])


def unwritable_file(error: OSError, path: Path, setting: str) -> CommandFailed:
    """Describe why `path`, which `setting` names, cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserActionRequired(
            f"The disk that holds {path} is full: free some, or set {setting}."
        )
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return UserActionRequired(f"{path} cannot be written ({reason}): allow it, or set {setting}.")


def run(work: Coroutine[None, None, T], *, user_faults: tuple[type[Refusal], ...] = ()) -> T:
    """Return the result of `work`.

    Raises:
        UserActionRequired: a refusal of one of the types in `user_faults`.
        Unavailable: another refusal, or an outage.
    """
    try:
        return asyncio.run(work)
    except user_faults as refusal:
        raise UserActionRequired(refusal.message) from refusal
    except (Outage, Refusal) as error:
        raise Unavailable(sentence(error.message)) from error
    except LocalFault as error:
        raise Unavailable(str(error)) from error


def confirm(question: str) -> bool:
    """Ask on standard error; False when the answer is no, the input has ended, or on Ctrl-C.

    Ctrl-C must end the question itself: inside `asyncio.run` it only cancels a task, which goes on
    waiting for the answer.
    """
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(question, default=False, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
    finally:
        signal.signal(signal.SIGINT, kept)


def sentence(text: str) -> str:
    """Capitalize the text and end it with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
