"""A private certificate authority, for servers of this machine that are reached by TLS."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE: Final = timedelta(days=30)
_ISSUER: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Farebox on this machine")])


@dataclass(frozen=True, slots=True)
class LocalTls:
    """The certificate of an authority (a PEM file), and the context of a server it vouches for."""

    authority: Path
    server: ssl.SSLContext


def make_local_tls(folder: Path, *names: str) -> LocalTls:
    """Make an authority in `folder`, and a server's certificate for these host names."""
    authority_key, key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    root = (
        _builder(_ISSUER, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(), critical=True)
        .sign(authority_key, None)
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    leaf = (
        _builder(subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        .add_extension(authority_id, critical=False)
        .sign(authority_key, None)
    )
    authority, server = folder / "authority.pem", folder / "server.pem"
    authority.write_bytes(root.public_bytes(Encoding.PEM))
    server.touch(mode=0o600)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    server.write_bytes(private + leaf.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server)
    return LocalTls(authority, context)


def _builder(subject: x509.Name, key: Ed25519PrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_ISSUER)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
