"""A private certificate authority and a server certificate for loopback, made on the spot."""

import base64
import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

from nacl.signing import SigningKey

_ED25519 = bytes.fromhex("300506032b6570")  # SEQUENCE { OID 1.3.101.112 }
_PKCS8_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_VALIDITY = b"\x17\x0d250101000000Z", b"\x17\x0d491231235959Z"
_LOOPBACK = b"\x82\x09localhost" + b"\x87\x04\x7f\x00\x00\x01"  # dNSName, iPAddress


@dataclass(frozen=True, slots=True)
class LoopbackTls:
    """Files and the server's context; the authority is trusted by nobody who is not told to."""

    authority: Path
    server: ssl.SSLContext


def make_loopback_tls(folder: Path) -> LoopbackTls:
    """A new authority in `folder`, and a server on loopback that it vouches for."""
    authority, server = SigningKey.generate(), SigningKey.generate()
    vouched_by = _extension("551d23", _der(0x30, _der(0x80, _key_id(authority))))
    of_authority = (
        _extension("551d13", _der(0x30, b"\x01\x01\xff"), critical=True)
        + _extension("551d0f", bytes.fromhex("03020106"), critical=True)
        + _extension("551d0e", _der(0x04, _key_id(authority)))
    )
    of_server = (
        _extension("551d13", _der(0x30, b""), critical=True)
        + _extension("551d11", _der(0x30, _LOOPBACK))
        + _extension("551d0e", _der(0x04, _key_id(server)))
        + vouched_by
    )
    name = "Farebox test authority"
    root = _certificate(1, name, name, authority, of_authority, authority)
    leaf = _certificate(2, name, "localhost", server, of_server, authority)
    authority_file, server_file = folder / "authority.pem", folder / "server.pem"
    authority_file.write_text(_pem("CERTIFICATE", root))
    key = _pem("PRIVATE KEY", _PKCS8_HEAD + bytes(server))
    server_file.write_text(key + _pem("CERTIFICATE", leaf))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_file)
    return LoopbackTls(authority_file, context)


def _certificate(
    serial: int,
    issuer: str,
    subject: str,
    key: SigningKey,
    extensions: bytes,
    signed_by: SigningKey,
) -> bytes:
    body = _der(
        0x30,
        _der(0xA0, b"\x02\x01\x02")
        + _der(0x02, bytes([serial]))
        + _ED25519
        + _name(issuer)
        + _der(0x30, b"".join(_VALIDITY))
        + _name(subject)
        + _der(0x30, _ED25519 + _bits(bytes(key.verify_key)))
        + _der(0xA3, _der(0x30, extensions)),
    )
    return _der(0x30, body + _ED25519 + _bits(signed_by.sign(body).signature))


def _name(text: str) -> bytes:
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
