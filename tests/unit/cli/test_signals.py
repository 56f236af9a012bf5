"""The signals that end a command."""

import signal
from collections.abc import Iterator

import pytest

from farebox.cli import main as command_line

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """The handlers are as they were after each test."""
    before = {each: signal.getsignal(each) for each in ENDS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("sigint", [signal.SIG_DFL, signal.SIG_IGN], ids=["", "background"])
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_every_signal_that_ends_a_command_interrupts_it(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, sigint: signal.Handlers
) -> None:
    signal.signal(signal.SIGINT, sigint)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    monkeypatch.setattr(command_line.command, "main", lambda **_: signal.raise_signal(number))
    with pytest.raises(KeyboardInterrupt):
        command_line.main()


def test_hangup_stays_ignored_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    hangup = signal.SIGHUP
    monkeypatch.setattr(command_line.command, "main", lambda **_: signal.raise_signal(hangup))
    command_line.main()
