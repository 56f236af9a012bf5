"""Sealed bytes in one piece."""

import pytest

from farebox.kernel.secret import Secret
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import SealBroken, Sealer
from support.vault import NEW, OLD, keys

RECORD = {"owner": "user_1", "purpose": "gateway response", "record": "r"}


def sealer(*entries: str, domain: str = "gateway response") -> ByteSealer:
    return ByteSealer(Sealer(keys(*entries), domain=domain))


@pytest.mark.parametrize("value", [b"", b"\0\xff\x80", b"a" * 100_000])
def test_value_opens_for_its_record_only(value: bytes) -> None:
    own = sealer(OLD)
    sealed = own.seal(Secret(value), **RECORD)
    assert value == b"" or value not in sealed
    assert own.open(sealed, **RECORD).reveal() == value
    for name in RECORD:
        with pytest.raises(SealBroken):
            own.open(sealed, **(RECORD | {name: "another"}))


def test_value_opens_after_a_new_key_and_not_without_its_own() -> None:
    sealed = sealer(OLD).seal(Secret(b"value"), **RECORD)
    assert sealer(NEW, OLD).open(sealed, **RECORD).reveal() == b"value"
    for other in (sealer(NEW), sealer(OLD, domain="vault secret")):
        with pytest.raises(SealBroken):
            other.open(sealed, **RECORD)


def test_damaged_value_is_not_opened() -> None:
    own = sealer(OLD)
    sealed = own.seal(Secret(b"value"), **RECORD)
    for cut in (b"", sealed[:3], sealed[:16], sealed[:-1], sealed[:-1] + b"\0" * 2):
        with pytest.raises(SealBroken):
            own.open(cut, **RECORD)
    for at in range(0, len(sealed), 5):
        with pytest.raises(SealBroken):
            own.open(sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :], **RECORD)
