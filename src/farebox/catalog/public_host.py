"""Names of hosts: one spelling each, and whether the public internet knows such a name."""

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Final

import idna

from farebox.catalog.drop_reason import DropReason

_MAX_HOST: Final = 253
_MAX_LABEL: Final = 63
_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]+(?<!-)\Z", re.ASCII)
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.ASCII)
_LOOPBACK_V6: Final = "[::1]"
_ALIASES: Final = frozenset({"ip6-localhost", "ip6-loopback"})
# names that resolve inside one network at most (RFC 6761, 6762, 7686, 8375, ICANN's .internal)
_LOCAL_ENDINGS: Final = frozenset(
    {
        "localhost",
        "localdomain",
        "local",
        "internal",
        "intranet",
        "private",
        "corp",
        "home",
        "lan",
        "home.arpa",
        "onion",
        "invalid",
    }
)


def read_host(text: str, *, is_local_allowed: bool = False) -> str | DropReason:
    """The one spelling of a host: lower case, punycode, without a trailing dot.

    Only names that can mean something on the public internet, unless local ones are allowed:
    then single labels, private endings and loopback and private addresses too.
    """
    if text == _LOOPBACK_V6 and is_local_allowed:
        return text
    if not text or len(text) > _MAX_HOST * 4 or any(c in text for c in "%[]:\\"):
        return DropReason.RESOURCE_HOST_NOT_PUBLIC if "[" in text else _INVALID
    host = _to_ascii(text)
    if host is None:
        return _INVALID
    if _NUMERIC.match(host.rpartition(".")[2]):
        return host if is_local_allowed and _is_local_address(host) else _NOT_PUBLIC
    return host if is_local_allowed or not is_local_name(host) else _NOT_PUBLIC


def is_local_name(host: str) -> bool:
    """Whether a canonical host is one that is reached inside one network or machine only."""
    labels = host.split(".")
    return (
        len(labels) < 2
        or labels[-1] in _LOCAL_ENDINGS
        or ".".join(labels[-2:]) in _LOCAL_ENDINGS
        or host in _ALIASES
    )


def is_local(host: str) -> bool:
    """Whether a canonical host, name or address, is a local one."""
    return host == _LOOPBACK_V6 or is_local_name(host) or _is_local_address(host)


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
    ascii_labels = [_label(label) for label in labels]
    host = ".".join(label or "" for label in ascii_labels)
    return host if all(ascii_labels) and len(host) <= _MAX_HOST else None


def _label(label: str) -> str | None:
    """One label in its ASCII form; names of hosts in use are laxer than IDNA, so ASCII passes."""
    try:
        if not label.isascii():
            label = idna.alabel(label).decode()
        elif label.startswith("xn--"):
            label = idna.alabel(idna.ulabel(label)).decode()
    except (idna.IDNAError, UnicodeError):
        return None
    return label if len(label) <= _MAX_LABEL and _LABEL.match(label) else None


_INVALID: Final = DropReason.RESOURCE_HOST_INVALID
_NOT_PUBLIC: Final = DropReason.RESOURCE_HOST_NOT_PUBLIC
