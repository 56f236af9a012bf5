"""The file descriptors of the service: the limit, the part reserved, and the callers left."""

import resource
from dataclasses import replace

import pytest

from farebox.app.settings import Settings
from farebox.cli.capacity import max_callers, raise_descriptor_limit, reserved_descriptors
from farebox.cli.exits import UserActionRequired
from support.environments import KEYS, read_changed


def _settings(**given: str) -> Settings:
    return read_changed(**KEYS, **{f"FAREBOX_{name}": value for name, value in given.items()})


def _limit(monkeypatch: pytest.MonkeyPatch, now: int, hard: int) -> list[tuple[int, int]]:
    taken: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: taken.append(limits))
    return taken


def test_descriptor_limit_is_raised_as_far_as_callers_need(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _settings()
    taken = _limit(monkeypatch, 1_024, 1_048_576)
    assert raise_descriptor_limit(settings) == 4_096
    assert taken == [(4_096 + reserved_descriptors(settings), 1_048_576)]


def test_descriptor_limit_stays_when_it_is_high_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = _limit(monkeypatch, 65_536, 65_536)
    assert raise_descriptor_limit(_settings()) == 4_096
    assert taken == []


def test_max_callers_shrinks_when_the_limit_cannot_be_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = _settings()
    _limit(monkeypatch, 1_024, 1_024)
    assert max_callers(settings) == 1_024 - reserved_descriptors(settings)


def test_start_is_refused_when_the_descriptor_limit_is_too_low(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = _settings()
    _limit(monkeypatch, 128, reserved_descriptors(settings) + 15)
    with pytest.raises(UserActionRequired, match="ulimit"):
        raise_descriptor_limit(settings)


def test_reserved_descriptors_count_every_node_and_connection() -> None:
    settings = _settings()
    more = replace(settings, connections=replace(settings.connections, money=110))
    assert reserved_descriptors(more) == reserved_descriptors(settings) + 100
    two = _settings(FALLBACK_RPC_URL_TESTNET="http://127.0.0.1:10/")
    assert reserved_descriptors(two) > reserved_descriptors(settings)
