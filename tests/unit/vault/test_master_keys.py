"""The setting of the master keys."""

import base64
import hashlib
import os
from itertools import count
from pathlib import Path

import pytest

from farebox.app.configuration import SettingsRefused, read_settings
from farebox.vault.master_keys import KeysFlaw, MasterKeys, new_master_key, read_master_keys
from support.promises import promise

_COUNT = count()


def entry(version: object, length: int = 32) -> str:
    """Another key each time, and the same ones in every run: they name cases."""
    key = hashlib.sha512(str(next(_COUNT)).encode()).digest()[:length]
    return f"{version}:{base64.b64encode(key).decode()}"


def test_the_first_key_seals_and_all_of_them_open() -> None:
    first, second = os.urandom(32), os.urandom(32)
    text = f"12:{base64.b64encode(first).decode()}, 3:{base64.b64encode(second).decode()}"
    found = read_master_keys(text)
    assert isinstance(found, MasterKeys)
    assert found.sealing == 12
    assert {version: key.reveal() for version, key in found.keys.items()} == {12: first, 3: second}
    assert found.missing(frozenset({3, 4, 12})) == {4}


def test_no_key_is_shown_by_what_holds_it() -> None:
    text = entry(1)
    found = read_master_keys(text)
    assert isinstance(found, MasterKeys)
    key = next(iter(found.keys.values())).reveal()
    for said in (repr(found), str(found)):
        assert text[2:] not in said
        assert repr(key) not in said


@promise("limit:master-key-32-bytes")
@pytest.mark.parametrize("length", [1, 16, 24, 31, 33, 48, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    assert isinstance(read_master_keys(entry(1)), MasterKeys)
    assert read_master_keys(f"{entry(2)},{entry(1, length)}") is KeysFlaw.WRONG_LENGTH


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
def test_what_is_no_list_of_keys_is_refused(text: str) -> None:
    assert read_master_keys(text) is KeysFlaw.UNREADABLE


def test_each_version_and_each_key_stands_there_once() -> None:
    one = entry(1)
    assert read_master_keys(f"{one},{entry(1)}") is KeysFlaw.SAME_VERSION
    assert read_master_keys(f"{one},2:{one[2:]}") is KeysFlaw.SAME_KEY
    many = ",".join(entry(version) for version in range(1, 18))
    assert read_master_keys(many) is KeysFlaw.TOO_MANY


def test_a_key_spelled_another_way_is_refused() -> None:
    text = entry(1)
    sloppy = text[:-2] + chr(ord(text[-2]) + 1) + "="  # bits that nobody reads
    assert not isinstance(read_master_keys(text[:-1]), MasterKeys)
    assert not isinstance(read_master_keys(sloppy), MasterKeys)


def test_a_new_key_can_be_set_and_comes_behind_the_known_ones() -> None:
    first = new_master_key(None).reveal()
    known = read_master_keys(first)
    assert isinstance(known, MasterKeys)
    assert known.sealing == 1
    both = read_master_keys(f"{first},{new_master_key(known).reveal()}")
    assert isinstance(both, MasterKeys)
    assert set(both.keys) == {1, 2}


def test_a_file_that_holds_keys_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "farebox.toml"
    path.write_text(f'master_keys = "{entry(1)}"\n')
    given = {"FAREBOX_CONFIG": str(path)}
    path.chmod(0o644)
    with pytest.raises(SettingsRefused, match="chmod 600"):
        read_settings(given, needs_network=False)
    path.chmod(0o600)
    assert read_settings(given, needs_network=False).master_keys is not None


def test_a_fault_of_the_setting_is_named_without_its_value() -> None:
    text = entry(1, 31)
    with pytest.raises(SettingsRefused) as refused:
        read_settings({"FAREBOX_MASTER_KEYS": text}, needs_network=False)
    assert str(refused.value) == f"FAREBOX_MASTER_KEYS: {KeysFlaw.WRONG_LENGTH}"
    assert text[2:] not in repr(refused.value.faults)
    read = read_settings({"FAREBOX_MASTER_KEYS": entry(1)}, needs_network=False)
    assert read.master_keys is not None
    assert read_settings({}, needs_network=False).master_keys is None
