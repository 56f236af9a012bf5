"""Errors of TLS stay with their connection: none is left in the queue that connections share."""

import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509 import CertificateBuilder, ObjectIdentifier, UnrecognizedExtension

from farebox.local import certificates
from farebox.local.certificates import Authority
from farebox.outbound.connection import make_tls
from support.outbound import DAMAGED, SELLER


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def connected(authority: Authority) -> tuple[ssl.SSLObject, ssl.SSLObject, ssl.MemoryBIO]:
    """A connection without sockets: TLS of the client and of the server, and what reaches it."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = make_tls(authority.file).wrap_bio(to_client, to_server, server_hostname=SELLER)
    server = authority.server(SELLER).wrap_bio(to_server, to_client, server_side=True)
    for step in (*(client.do_handshake, server.do_handshake) * 3, client.read):
        with suppress(ssl.SSLWantReadError):
            step()
    return client, server, to_server


def test_fatal_alert_that_nobody_has_read_breaks_no_other_connection(authority: Authority) -> None:
    other, *_ = connected(authority)
    client, server, to_server = connected(authority)
    to_server.write(DAMAGED)
    for side in (server.read, client.unwrap):
        with pytest.raises(ssl.SSLError):
            side()
    with pytest.raises(ssl.SSLWantReadError):
        other.read()


def test_certificate_that_python_cannot_decode_breaks_no_other_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, *_ = connected(authority)
    builder, information_access = certificates._builder, ObjectIdentifier("1.3.6.1.5.5.7.1.1")
    malformed = UnrecognizedExtension(information_access, b"\x30\x05\xff\xff")

    def build(*arguments: Any, **options: Any) -> CertificateBuilder:
        return builder(*arguments, **options).add_extension(malformed, critical=False)

    monkeypatch.setattr(certificates, "_builder", build)
    client, *_ = connected(authority)
    client.getpeercert()
    with pytest.raises(ssl.SSLWantReadError):
        other.read()
