"""What each setting may say: text to value, or the words for what is wanted.

A rule never repeats the text it was given, because that text may be a secret.
"""

import base64
import binascii
import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from farebox.facilitator.verification.served_network import AssetRule
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.secret import Secret
from farebox.outbound.address_ranges import IPAddress
from farebox.outbound.resolve import Pinned
from farebox.vault.master_keys import KeysFlaw, MasterKeys, read_master_keys

T = TypeVar("T")
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")  # the addresses of IPv4 inside IPv6
_NAME_AND_PORT: Final = re.compile(r"([0-9.]+|\[[0-9a-f:.]+\]):([0-9]{1,5})\Z", re.ASCII)
_LONGEST_DOMAIN: Final = 59  # "… auth" names an entry of 64 bytes in every challenge
_HOST: Final = re.compile(rf"[a-z0-9:.-]{{1,{_LONGEST_DOMAIN}}}\Z", re.ASCII)
_SEED: Final = re.compile(r"S[A-Z2-7]{55}\Z", re.ASCII)
_SEED_VERSION: Final = 18 << 3
_WHOLE: Final = re.compile(r"[0-9]{1,15}\Z", re.ASCII)
_SECONDS: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?\Z", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})\Z", re.ASCII | re.IGNORECASE)
_NO_KEY: Final = hashlib.sha256(b"").digest()
_LOCAL_NAME: Final = "localhost"


class Unwanted(Exception):
    """A setting's text does not fit; `wanted` says what does, and holds no value."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


_UNWANTED_NAMES: Final = Unwanted(
    "name=address pairs separated by commas; a port only behind a loopback address"
)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What stands in for every nameserver in a test."""

    servers: Mapping[str, Pinned]  # of this machine
    addresses: Mapping[str, tuple[IPAddress, ...]]


class LogLevel(StrEnum):
    """The least severe event that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def is_loopback_host(host: str) -> bool:
    """Whether what is served there can be reached by this machine only."""
    return host == _LOCAL_NAME or _is_loopback(host)


def host(text: str) -> str:
    """An address of this machine to listen on."""
    try:
        return text if text == _LOCAL_NAME else str(ipaddress.ip_address(text))
    except ValueError:
        raise Unwanted("an IP address of this machine, or localhost") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def switch(text: str) -> bool:
    """On or off."""
    if text not in ("0", "1"):
        raise Unwanted("0 or 1")
    return text == "1"


def access(text: str) -> bool:
    """Whether a key is needed."""
    if text not in ("open", "required"):
        raise Unwanted("open or required")
    return text == "required"


def proxies(text: str) -> tuple[IPNetwork, ...]:
    """Networks of proxies: `10.0.0.0/8, 2001:db8::7`; never everybody, nor all of IPv4.

    One of IPv4 inside IPv6 (`::ffff:10.0.0.0/104`) is that of IPv4, as the addresses it is
    compared with are.
    """
    try:
        found = tuple(_plain(ipaddress.ip_network(part.strip())) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or any(map(_has_everybody, found)):
        raise Unwanted("addresses or networks (10.0.0.0/8) separated by commas, not all there are")
    return found


def _plain(network: IPNetwork) -> IPNetwork:
    if network.version == 4 or not network.subnet_of(_MAPPED):
        return network
    inside = int(network.network_address) - int(_MAPPED.network_address)
    return ipaddress.IPv4Network((inside, network.prefixlen - _MAPPED.prefixlen))


def _has_everybody(network: IPNetwork) -> bool:
    return network.prefixlen == 0 or (network.version == 6 and network.supernet_of(_MAPPED))


def where_possible(text: str) -> bool:
    """Whether something is done wherever it can be."""
    if text not in ("auto", "off"):
        raise Unwanted("auto or off")
    return text == "auto"


def whole(least: int, most: int) -> Callable[[str], int]:
    """A rule for a whole number between `least` and `most`, both allowed."""

    def rule(text: str) -> int:
        if not _WHOLE.match(text) or not least <= int(text) <= most:
            raise Unwanted(f"a whole number from {least} to {most}")
        return int(text)

    return rule


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A rule for a number of seconds between `least` and `most`, both allowed."""

    def rule(text: str) -> float:
        if not _SECONDS.match(text) or not least <= float(text) <= most:
            raise Unwanted(f"a number of seconds from {least:g} to {most:g}")
        return float(text)

    return rule


def log_level(text: str) -> LogLevel:
    """One of the four levels."""
    try:
        return LogLevel(text.lower())
    except ValueError:
        raise Unwanted("one of debug, info, warning, error") from None


def database_url(text: str) -> Secret[str]:
    """The address of a PostgreSQL database."""
    parts = urlsplit(text)
    if parts.scheme not in ("postgres", "postgresql") or not (parts.netloc or parts.query):
        raise Unwanted("a URL such as postgresql://user:password@host:5432/database")
    return Secret(text)


def rpc_url(text: str) -> Secret[str]:
    """The address of a Stellar RPC server; plain HTTP only on this machine."""
    wanted = "an https:// URL of a Stellar RPC server (http:// only for a loopback address)"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise Unwanted(wanted) from None
    local = host == _LOCAL_NAME or _is_loopback(host)
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise Unwanted(wanted)
    if parts.fragment or any(not 32 < ord(char) < 127 for char in text):
        raise Unwanted(wanted)
    return Secret(text)


def public_url(text: str) -> str:
    """Where the service is found: scheme, host and port; plain HTTP only on this machine."""
    wanted = (
        f"an https:// URL without a path, its host at most {_LONGEST_DOMAIN} characters"
        " (http:// only for a loopback address)"
    )
    try:
        parts = urlsplit(text.lower())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Unwanted(wanted) from None
    is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in text)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(host))
    if not (is_plain and is_safe and _HOST.match(host)) or text[-1:] in "?#":
        raise Unwanted(wanted)
    is_usual = port in (None, 443 if parts.scheme == "https" else 80)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if is_usual else f":{port}")


def secret_seed(text: str) -> Secret[str]:
    """The secret seed of a Stellar account, its checksum verified."""
    if _SEED.match(text):
        raw = base64.b32decode(text)
        checksum = int.from_bytes(raw[33:], "little")
        if raw[0] == _SEED_VERSION and binascii.crc_hqx(raw[:33], 0) == checksum:
            return Secret(text)
    raise Unwanted("the secret seed of a Stellar account (S and 55 more characters)")


def operator_keys(text: str) -> tuple[bytes, ...]:
    """Digests of the operator's keys: `sha256:<64 hex digits>`, separated by commas."""
    found = [_DIGEST.match(part.strip()) for part in text.split(",")]
    digests = tuple(bytes.fromhex(each.group(1)) for each in found if each)
    if not len(found) == len(digests) == len(set(digests)) or _NO_KEY in digests:
        raise Unwanted("different sha256:<64 hex digits> of keys, separated by commas")
    return digests


def master_keys(text: str) -> MasterKeys:
    """The keys that secrets are sealed with, the one for new secrets first."""
    found = read_master_keys(text)
    if isinstance(found, KeysFlaw):
        raise Unwanted(found.value)
    return found


def asset_policy(text: str) -> AssetRule | frozenset[Address]:
    """`any`, `asset-contracts`, or a list of token contracts."""
    try:
        return AssetRule(text)
    except ValueError:
        listed = [parse_contract(part.strip()) for part in text.split(",")]
    contracts = frozenset(contract for contract in listed if contract is not None)
    if len(contracts) != len(listed):
        raise Unwanted("any, asset-contracts, or different C… addresses separated by commas")
    return contracts


def contract(text: str) -> Address:
    """The address of one contract."""
    address = parse_contract(text)
    if address is None:
        raise Unwanted("the C… address of a contract")
    return address


def readable_file(text: str) -> Path:
    """A file that is there and can be read."""
    path = Path(text).expanduser()
    try:
        with path.open("rb"):
            return path
    except OSError:
        raise Unwanted("the path of a file that can be read") from None


def known_names(text: str) -> KnownNames:
    """Names and where they are, for tests: `name=127.0.0.1:4443, other=10.0.0.1`.

    A loopback address with a port is a server of this machine; any other is what a nameserver
    would say of the name.
    """
    servers: dict[str, Pinned] = {}
    addresses: dict[str, tuple[IPAddress, ...]] = {}
    for entry in text.split(","):
        name, _, place = (part.strip() for part in entry.partition("="))
        found = _NAME_AND_PORT.match(place)
        try:
            address = ipaddress.ip_address(found.group(1).strip("[]") if found else place)
        except ValueError:
            raise _UNWANTED_NAMES from None
        if not name or (found and not address.is_loopback):
            raise _UNWANTED_NAMES
        if found:
            servers[name] = Pinned(address, int(found.group(2)))
        else:
            addresses[name] = (*addresses.get(name, ()), address)
    return KnownNames(servers, addresses)


def some_path(text: str) -> Path:
    """A path, made absolute."""
    if not text or "\0" in text:
        raise Unwanted("a path")
    return Path(text).expanduser().absolute()
