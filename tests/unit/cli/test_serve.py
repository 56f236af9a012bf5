"""The host names that the service allows, and the exit code of its failures."""

import pytest

from farebox.app.configuration import SettingsRefused
from farebox.app.settings import Settings
from farebox.cli.serve import allowed_host_names, command_failure
from farebox.kernel.errors import CommandRefused, Outage
from support.environments import KEYS, read_changed


def _settings(**given: str) -> Settings:
    return read_changed(**KEYS, **{f"FAREBOX_{name}": value for name, value in given.items()})


def test_loopback_service_allows_loopback_public_and_configured_hosts() -> None:
    settings = _settings(PUBLIC_URL="https://pay.example", ALLOWED_HOSTS="inside.example, 10.0.0.8")
    hosts = allowed_host_names(settings)
    assert hosts is not None
    for host in (
        b"localhost",
        b"127.0.0.1:8402",
        b"pay.example",
        b"INSIDE.example:80",
        b"10.0.0.8",
    ):
        assert host in hosts
    for host in (b"pay.example.evil.example", b"xpay.example", b"evil.example", b"localhost.evil"):
        assert host not in hosts


def test_public_service_allows_every_host_unless_hosts_are_configured() -> None:
    assert allowed_host_names(_settings(HOST="0.0.0.0")) is None
    hosts = allowed_host_names(_settings(HOST="0.0.0.0", ALLOWED_HOSTS="pay.example"))
    assert hosts is not None
    assert b"pay.example" in hosts
    assert b"evil.example" not in hosts


@pytest.mark.parametrize("text", ["pay.example:443", "https://pay.example", "a b", ",", "ä.de"])
def test_allowed_host_is_refused_unless_it_is_a_bare_name(text: str) -> None:
    with pytest.raises(SettingsRefused, match="ALLOWED_HOSTS"):
        _settings(ALLOWED_HOSTS=text)


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (Outage("database", "The database is away."), 1, "The database is away."),
        (CommandRefused("The node is too old."), 2, "The node is too old."),
        (ValueError("hidden"), 70, "an internal error"),
        (None, 70, "an internal error"),
    ],
)
def test_exit_code_follows_the_failure_of_the_service(
    failure: Exception | None, code: int, words: str
) -> None:
    ended = command_failure(failure)
    assert ended.exit_code == code
    assert words in ended.message
    assert "hidden" not in ended.message
