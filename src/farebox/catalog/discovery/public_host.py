"""Canonical host names, and whether they are public."""

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Final

import idna

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.outbound.target import Target, parse_target

_MAX_HOST: Final = 253
_MAX_LABEL: Final = 63
_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]+(?<!-)\Z", re.ASCII)
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.ASCII)
_LOOPBACK_V6: Final = "[::1]"


def read_host(text: str, *, is_local_allowed: bool = False) -> str | DropReason:
    """Canonicalize a host: lower case, punycode, without a trailing dot.

    Only public names are accepted, unless local hosts are allowed: then also single labels, private
    suffixes, and loopback and private addresses.
    """
    if text == _LOOPBACK_V6 and is_local_allowed:
        return text
    if not text or len(text) > _MAX_HOST * 4 or any(c in text for c in "%[]:\\"):
        return DropReason.RESOURCE_HOST_NOT_PUBLIC if "[" in text else _INVALID
    host = _to_ascii(text)
    if host is None:
        return _INVALID
    is_listable = _is_public(host) or (is_local_allowed and is_local(host))
    return host if is_listable else DropReason.RESOURCE_HOST_NOT_PUBLIC


def is_local(host: str) -> bool:
    """Whether a canonical host is a private or loopback address or a non-public name."""
    if host == _LOOPBACK_V6:
        return True
    if _NUMERIC.match(host.rpartition(".")[2]):
        return _is_local_address(host)
    return not _is_public(host)


def _is_public(host: str) -> bool:
    """Whether the outbound policy would allow a request to the host."""
    return isinstance(parse_target(f"https://{host}/"), Target)


def _is_local_address(host: str) -> bool:
    try:
        address = IPv4Address(host)
    except AddressValueError:
        return False
    return address.is_loopback or address.is_private


def _to_ascii(text: str) -> str | None:
    try:
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
    except (idna.IDNAError, UnicodeError):
        return None
    labels = mapped.removesuffix(".").split(".")
    ascii_labels = [_encode_label(label) for label in labels]
    host = ".".join(label or "" for label in ascii_labels)
    return host if all(ascii_labels) and len(host) <= _MAX_HOST else None


def _encode_label(label: str) -> str | None:
    """Encode one label in ASCII; an ASCII label passes, since host names in use break IDNA."""
    try:
        if not label.isascii():
            label = idna.alabel(label).decode()
        elif label.startswith("xn--"):
            label = idna.alabel(idna.ulabel(label)).decode()
    except (idna.IDNAError, UnicodeError):
        return None
    return label if len(label) <= _MAX_LABEL and _LABEL.match(label) else None


_INVALID: Final = DropReason.RESOURCE_HOST_INVALID
