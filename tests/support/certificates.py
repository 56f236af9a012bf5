"""A new private certificate authority and a server certificate for loopback."""

import base64
import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

from nacl.signing import SigningKey

_ED25519 = bytes.fromhex("300506032b6570")  # SEQUENCE { OID 1.3.101.112 }
_NAME = "Farebox test authority"
_PKCS8_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_SINCE, _UNTIL = b"\x17\x0d250101000000Z", b"\x17\x0d491231235959Z"
_LONG_PAST = b"\x17\x0d250102000000Z"
_LOOPBACK = b"\x87\x04\x7f\x00\x00\x01"  # iPAddress


@dataclass(frozen=True, slots=True)
class LoopbackTls:
    """Files and the server's context; the authority is trusted only where a test says so."""

    authority: Path
    server: ssl.SSLContext


class Authority:
    """A new authority; `file` is its certificate, in the folder given."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key, self._issued = folder, SigningKey.generate(), 1
        extensions = (
            _extension("551d13", _der(0x30, b"\x01\x01\xff"), critical=True)
            + _extension("551d0f", bytes.fromhex("03020106"), critical=True)
            + _extension("551d0e", _der(0x04, _key_id(self._key)))
        )
        root = _certificate(1, _NAME, _NAME, self._key, extensions, self._key)
        self.file = folder / f"authority-{id(self)}.pem"
        self.file.write_text(_pem("CERTIFICATE", root))

    def server(self, *names: str, is_expired: bool = False) -> ssl.SSLContext:
        """A server's context, with a certificate of this authority for these names."""
        key = SigningKey.generate()
        self._issued += 1
        listed = b"".join(b"\x82" + bytes([len(each)]) + each.encode() for each in names)
        extensions = (
            _extension("551d13", _der(0x30, b""), critical=True)
            + _extension("551d11", _der(0x30, listed + _LOOPBACK))
            + _extension("551d0e", _der(0x04, _key_id(key)))
            + _extension("551d23", _der(0x30, _der(0x80, _key_id(self._key))))
        )
        until = _LONG_PAST if is_expired else _UNTIL
        leaf = _certificate(self._issued, _NAME, names[0], key, extensions, self._key, until=until)
        file = self._folder / f"server-{id(self)}-{self._issued}.pem"
        private = _pem("PRIVATE KEY", _PKCS8_HEAD + bytes(key))
        file.write_text(private + _pem("CERTIFICATE", leaf))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def make_loopback_tls(folder: Path) -> LoopbackTls:
    """A new authority in `folder`, and a server on loopback that it vouches for."""
    authority = Authority(folder)
    return LoopbackTls(authority.file, authority.server("localhost"))


def _certificate(
    serial: int,
    issuer: str,
    subject: str,
    key: SigningKey,
    extensions: bytes,
    signed_by: SigningKey,
    *,
    until: bytes = _UNTIL,
) -> bytes:
    body = _der(
        0x30,
        _der(0xA0, b"\x02\x01\x02")
        + _der(0x02, bytes([serial]))
        + _ED25519
        + _common_name(issuer)
        + _der(0x30, _SINCE + until)
        + _common_name(subject)
        + _der(0x30, _ED25519 + _bits(bytes(key.verify_key)))
        + _der(0xA3, _der(0x30, extensions)),
    )
    return _der(0x30, body + _ED25519 + _bits(signed_by.sign(body).signature))


def _common_name(text: str) -> bytes:
    pair = _der(0x30, bytes.fromhex("0603550403") + _der(0x0C, text.encode()))
    return _der(0x30, _der(0x31, pair))


def _extension(oid: str, value: bytes, *, critical: bool = False) -> bytes:
    flag = b"\x01\x01\xff" if critical else b""
    return _der(0x30, _der(0x06, bytes.fromhex(oid)) + flag + _der(0x04, value))


def _key_id(key: SigningKey) -> bytes:
    return hashlib.sha1(bytes(key.verify_key), usedforsecurity=False).digest()


def _bits(value: bytes) -> bytes:
    return _der(0x03, b"\0" + value)


def _der(tag: int, value: bytes) -> bytes:
    size = len(value)
    if size < 0x80:
        return bytes([tag, size]) + value
    length = size.to_bytes(2, "big").lstrip(b"\0")
    return bytes([tag, 0x80 | len(length)]) + length + value


def _pem(label: str, der: bytes) -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n"
