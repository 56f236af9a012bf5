"""A private certificate authority, for servers of this machine that are reached by TLS."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE: Final = timedelta(days=30)
_LOOPBACK: Final = x509.IPAddress(ip_address("127.0.0.1"))
_ISSUER: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Farebox on this machine")])
_SIGNS: Final = x509.KeyUsage(
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


class Authority:
    """A new authority; `file` is its certificate (PEM), in the folder given."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key, self._issued = folder, Ed25519PrivateKey.generate(), 0
        root = (
            _builder(_ISSUER, self._key.public_key(), until=datetime.now(UTC) + _LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .sign(self._key, None)
        )
        self.file = folder / f"authority-{id(self)}.pem"
        self.file.write_bytes(root.public_bytes(Encoding.PEM))

    def issue(self, *names: str, is_expired: bool = False) -> Path:
        """Write the key and the certificate of a server with these names, and of the loopback."""
        self._issued += 1
        key, life = Ed25519PrivateKey.generate(), -_LIFE if is_expired else _LIFE
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        listed = x509.SubjectAlternativeName([*map(x509.DNSName, names), _LOOPBACK])
        issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        leaf = (
            _builder(subject, key.public_key(), until=datetime.now(UTC) + life)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(listed, critical=False)
            .add_extension(issuer_id, critical=False)
            .sign(self._key, None)
        )
        file = self._folder / f"server-{id(self)}-{self._issued}.pem"
        file.touch(mode=0o600)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(private + leaf.public_bytes(Encoding.PEM))
        return file

    def server(self, *names: str, is_expired: bool = False) -> ssl.SSLContext:
        """The context of such a server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(*names, is_expired=is_expired))
        return context


def _builder(
    subject: x509.Name, key: Ed25519PublicKey, *, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_ISSUER)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(until - 2 * _LIFE)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )
