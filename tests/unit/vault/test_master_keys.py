"""The setting of the master keys."""

import base64
import hashlib
import os
from itertools import count
from pathlib import Path

import pytest

from farebox.app.configuration import SettingsRefused, read_settings
from farebox.vault.master_keys import MasterKeys, MasterKeysFault, new_master_key, read_master_keys
from support.promises import promise

_COUNT = count()


def entry(version: object, length: int = 32) -> str:
    """Another key each time, and the same ones in every run: they name cases."""
    key = hashlib.sha512(str(next(_COUNT)).encode()).digest()[:length]
    return f"{version}:{base64.b64encode(key).decode()}"


def test_first_master_key_seals_and_all_of_them_open() -> None:
    first, second = os.urandom(32), os.urandom(32)
    text = f"12:{base64.b64encode(first).decode()}, 3:{base64.b64encode(second).decode()}"
    found = read_master_keys(text)
    assert isinstance(found, MasterKeys)
    assert found.sealing == 12
    assert {version: key.reveal() for version, key in found.keys.items()} == {12: first, 3: second}
    assert found.missing(frozenset({3, 4, 12})) == {4}


def test_repr_of_master_keys_hides_the_keys() -> None:
    text = entry(1)
    found = read_master_keys(text)
    assert isinstance(found, MasterKeys)
    key = next(iter(found.keys.values())).reveal()
    for shown in (repr(found), str(found)):
        assert text[2:] not in shown
        assert repr(key) not in shown


@promise("limit:master-key-32-bytes")
@pytest.mark.parametrize("length", [1, 16, 24, 31, 33, 48, 64])
def test_master_key_of_another_length_is_refused(length: int) -> None:
    assert isinstance(read_master_keys(entry(1)), MasterKeys)
    assert read_master_keys(f"{entry(2)},{entry(1, length)}") is MasterKeysFault.WRONG_LENGTH


@pytest.mark.parametrize(
    "key",
    [
        bytes(32),
        b"\xff" * 32,
        b"0123456789abcde" * 2 + b"01",
        bytes(range(32)),
        bytes(range(255, 223, -1)),
        bytes(n * 7 % 256 for n in range(32)),
        bytes(range(0, 64, 2)),
    ],
    ids=["zeros", "ones", "word", "counted", "down", "steps", "even"],
)
def test_master_key_without_randomness_is_refused(key: bytes) -> None:
    text = f"3:{base64.b64encode(key).decode()}"
    for given in (text, f"{entry(2)},{text}"):
        assert read_master_keys(given) is MasterKeysFault.NOT_RANDOM


def test_random_master_keys_are_accepted() -> None:
    for _ in range(2_000):
        assert isinstance(read_master_keys(new_master_key(None).reveal()), MasterKeys)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "1:",
        ":",
        entry(""),
        entry(0),
        entry("01"),
        entry(-1),
        entry("1.0"),
        entry("١"),
        entry(10**9),
        entry(1) + ",",
        entry(1) + ";" + entry(2),
        entry(1)[2:],
        "1:not base64 at all, not at all",
        entry(1) + "\n\n" + entry(2),
    ],
)
def test_malformed_list_of_master_keys_is_refused(text: str) -> None:
    assert read_master_keys(text) is MasterKeysFault.UNREADABLE


def test_repeated_version_or_key_is_refused() -> None:
    one = entry(1)
    assert read_master_keys(f"{one},{entry(1)}") is MasterKeysFault.SAME_VERSION
    assert read_master_keys(f"{one},2:{one[2:]}") is MasterKeysFault.SAME_KEY
    many = ",".join(entry(version) for version in range(1, 18))
    assert read_master_keys(many) is MasterKeysFault.TOO_MANY


def test_master_key_in_noncanonical_base64_is_refused() -> None:
    text = entry(1)
    sloppy = text[:-2] + chr(ord(text[-2]) + 1) + "="  # bits that decoding ignores
    assert not isinstance(read_master_keys(text[:-1]), MasterKeys)
    assert not isinstance(read_master_keys(sloppy), MasterKeys)


def test_new_master_key_has_the_next_version() -> None:
    first = new_master_key(None).reveal()
    known = read_master_keys(first)
    assert isinstance(known, MasterKeys)
    assert known.sealing == 1
    both = read_master_keys(f"{first},{new_master_key(known).reveal()}")
    assert isinstance(both, MasterKeys)
    assert set(both.keys) == {1, 2}


def test_file_with_master_keys_is_refused_when_others_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "farebox.toml"
    path.write_text(f'master_keys = "{entry(1)}"\n')
    given = {"FAREBOX_CONFIG": str(path)}
    path.chmod(0o644)
    with pytest.raises(SettingsRefused, match="chmod 600"):
        read_settings(given, needs_network=False)
    path.chmod(0o600)
    assert read_settings(given, needs_network=False).master_keys is not None


def test_invalid_master_keys_setting_is_refused_without_its_value() -> None:
    text = entry(1, 31)
    with pytest.raises(SettingsRefused) as refused:
        read_settings({"FAREBOX_MASTER_KEYS": text}, needs_network=False)
    assert str(refused.value) == f"FAREBOX_MASTER_KEYS: {MasterKeysFault.WRONG_LENGTH}"
    assert text[2:] not in repr(refused.value.faults)
    read = read_settings({"FAREBOX_MASTER_KEYS": entry(1)}, needs_network=False)
    assert read.master_keys is not None
    assert read_settings({}, needs_network=False).master_keys is None
