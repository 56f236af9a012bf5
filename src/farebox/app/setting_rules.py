"""The rules of the settings: each parses a text and describes the valid texts.

No message repeats the text, which may be a secret.
"""

import base64
import binascii
import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from farebox.app.setting_fields import InvalidText, Rule, rule
from farebox.facilitator.verification.operator_rules import AssetRule
from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.secret import Secret
from farebox.outbound.address_ranges import IPAddress
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress
from farebox.vault.master_keys import MasterKeys, MasterKeysFault, read_master_keys

N = TypeVar("N", bound=float)
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")  # the addresses of IPv4 inside IPv6
_NAME_AND_PORT: Final = re.compile(r"([0-9.]+|\[[0-9a-f:.]+\]):([0-9]{1,5})\Z", re.ASCII)
_LONGEST_DOMAIN: Final = 59  # "… auth" is the name of a data entry of 64 bytes in every challenge
_HOST: Final = re.compile(rf"[a-z0-9:.-]{{1,{_LONGEST_DOMAIN}}}\Z", re.ASCII)
_HOST_NAME: Final = re.compile(r"([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])\Z", re.ASCII)
_SEED: Final = re.compile(r"S[A-Z2-7]{55}\Z", re.ASCII)
_SEED_VERSION: Final = 18 << 3
_WHOLE: Final = re.compile(r"[0-9]{1,15}\Z", re.ASCII)
_SECONDS: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?\Z", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})\Z", re.ASCII | re.IGNORECASE)
_NO_KEY: Final = hashlib.sha256(b"").digest()
_DATABASE_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@]*)(:(?P<port>[0-9]{1,5}))?")
_OPTION: Final = re.compile(r"[a-z_][a-z0-9_.]*", re.ASCII)
_PORTS: Final = re.compile(r"[0-9]{1,5}(,[0-9]{1,5})*", re.ASCII)
_NO_PORT: Final = 2**16
_LOCAL_NAME: Final = "localhost"
_LONGEST_CONTACT: Final = 200
_CONTACT: Final = re.compile(
    r"(https://[a-z0-9.-]+(:[0-9]+)?(/[!-~]*)?|[A-Za-z0-9._+-]+@[a-z0-9.-]+)\Z", re.ASCII
)


def _check(*conditions: object) -> None:
    if not all(conditions):
        raise ValueError


def whole(least: int, most: int) -> Rule[int]:
    """A rule for a whole number between `least` and `most`, both included."""
    return _number("a whole number", _WHOLE, int, least, most)


def stroops(least: int, most: int) -> Rule[Stroops]:
    """A rule for an amount of the native coin, like `whole`."""
    return _number("a whole number", _WHOLE, lambda text: Stroops(int(text)), least, most)


def base_units(least: int, most: int) -> Rule[BaseUnits]:
    """A rule for an amount of a token in base units, like `whole`."""
    return _number("a whole number", _WHOLE, lambda text: BaseUnits(int(text)), least, most)


def seconds(least: float, most: float) -> Rule[float]:
    """A rule for a number of seconds between `least` and `most`, both included."""
    return _number("a number of seconds", _SECONDS, float, least, most)


def _number(
    name: str, shape: re.Pattern[str], read: Callable[[str], N], least: float, most: float
) -> Rule[N]:
    def parse(text: str) -> N:
        _check(shape.match(text), least <= read(text) <= most)
        return read(text)

    return Rule(parse, f"{name} from {least} to {most}")


def either(no: str, yes: str) -> Rule[bool]:
    """A rule for one of two words: `no` is False, `yes` is True."""

    @rule(f"{no} or {yes}")
    def read(text: str) -> bool:
        _check(text in (no, yes))
        return text == yes

    return read


class LogLevel(StrEnum):
    """The minimum severity of events that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@rule(f"one of {', '.join(LogLevel)}")
def log_level(text: str) -> LogLevel:
    return LogLevel(text.lower())


@rule("a path")
def some_path(text: str) -> Path:
    _check(text, "\0" not in text)
    return Path(text).expanduser().absolute()


@rule("the path of a file that can be read")
def readable_file(text: str) -> Path:
    path = Path(text).expanduser()
    path.open("rb").close()
    return path


def is_loopback_host(host: str) -> bool:
    """Whether the host is a loopback address."""
    try:
        return host == _LOCAL_NAME or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@rule("an IP address of this machine, or localhost")
def host(text: str) -> str:
    return text if text == _LOCAL_NAME else str(ipaddress.ip_address(text))


@rule("names or addresses without a port, separated by commas")
def host_names(text: str) -> tuple[str, ...]:
    names = tuple(each.lower() for each in _items(text))
    _check(*map(_HOST_NAME.match, names))
    return names


def _items(text: str) -> list[str]:
    """Split a list at commas; an empty text has no items."""
    return [item.strip() for item in text.split(",")] if text else []


@rule("addresses or networks (10.0.0.0/8) separated by commas, fewer than half there are")
def proxies(text: str) -> tuple[IPNetwork, ...]:
    """Parse networks of proxies: `10.0.0.0/8, 2001:db8::7`.

    An IPv4-mapped network (`::ffff:10.0.0.0/104`) becomes one of IPv4, like the addresses that it
    is compared with.
    """
    networks = tuple(_unmapped(ipaddress.ip_network(item)) for item in _items(text))
    _check(not _have_half(networks))
    return networks


def _unmapped(network: IPNetwork) -> IPNetwork:
    if network.version == 4 or not network.subnet_of(_MAPPED):
        return network
    inside = int(network.network_address) - int(_MAPPED.network_address)
    return ipaddress.IPv4Network((inside, network.prefixlen - _MAPPED.prefixlen))


def _have_half(networks: Iterable[IPNetwork]) -> bool:
    """Whether the networks cover half of IPv4 or IPv6, or all IPv4-mapped addresses."""
    v4 = [each for each in networks if isinstance(each, ipaddress.IPv4Network)]
    v6 = [each for each in networks if isinstance(each, ipaddress.IPv6Network)]
    held_4 = sum(each.num_addresses for each in ipaddress.collapse_addresses(v4))
    held_6 = sum(each.num_addresses for each in ipaddress.collapse_addresses(v6))
    return held_4 >= 2**31 or held_6 >= 2**127 or any(each.supernet_of(_MAPPED) for each in v6)


@rule(
    "a URL such as postgresql://user:password@host:5432/database, in which "
    "/ : # ? @ [ ] & = and % of a password are written as %2F, %3A and so on",
    is_secret=True,
)
def database_url(text: str) -> Secret[str]:
    """Parse the URL of a PostgreSQL database.

    An unescaped reserved character in a password would split the URL in the wrong place, and the
    driver would show a part of the password as a port, a database or an option.
    """
    parts = urlsplit(text)
    options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    _check(
        parts.scheme in ("postgres", "postgresql"),
        parts.netloc or parts.query,
        all(map(_is_database_host, parts.netloc.rpartition("@")[2].split(","))),
        not {"@", ":"} & set(parts.path),
        parts.netloc.count("@") <= 1,
        "@" not in parts.query,
        not parts.fragment,
        all(_is_database_option(name, value) for name, value in options),
        not any(ord(char) < 32 for char in text),
    )
    return Secret(text)


def _is_database_host(text: str) -> bool:
    host = _DATABASE_HOST.fullmatch(text)
    return host is not None and int(host["port"] or 0) < _NO_PORT


def _is_database_option(name: str, value: str) -> bool:
    if name == "port":
        return bool(_PORTS.fullmatch(value)) and all(int(p) < _NO_PORT for p in value.split(","))
    return bool(_OPTION.fullmatch(name))


@rule(
    "an https:// URL of a Stellar RPC server (http:// only for a loopback address)", is_secret=True
)
def rpc_url(text: str) -> Secret[str]:
    """Parse the URL of a Stellar RPC server; it may contain an access key."""
    parts = urlsplit(text)
    host, _ = parts.hostname or "", parts.port  # raises for an invalid port
    _check(
        host,
        _is_safe(parts.scheme, host),
        not parts.fragment,
        all(32 < ord(char) < 127 for char in text),
    )
    return Secret(text)


def _is_safe(scheme: str, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and is_loopback_host(host))


@rule(
    f"an https:// URL without a path, its host at most {_LONGEST_DOMAIN} characters"
    " (http:// only for a loopback address)"
)
def public_url(text: str) -> str:
    """Parse the public URL of the service: scheme, host and port."""
    parts = urlsplit(text.lower())
    host, port = parts.hostname or "", parts.port
    _check(
        parts.path in ("", "/"),
        not (parts.query or parts.fragment or "@" in text or text[-1:] in "?#"),
        _is_safe(parts.scheme, host),
        _HOST.match(host),
    )
    is_usual = port in (None, 443 if parts.scheme == "https" else 80)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if is_usual else f":{port}")


@rule("an https:// URL or an e-mail address, at most 200 characters")
def contact(text: str) -> str:
    """Parse the operator's contact."""
    _check(len(text) <= _LONGEST_CONTACT, _CONTACT.match(text))
    return text


@rule("the secret seed of a Stellar account (S and 55 more characters)", is_secret=True)
def secret_seed(text: str) -> Secret[str]:
    """Parse the secret seed of a Stellar account and verify its checksum."""
    _check(_SEED.match(text))
    raw = base64.b32decode(text)
    checksum = int.from_bytes(raw[33:], "little")
    _check(raw[0] == _SEED_VERSION, binascii.crc_hqx(raw[:33], 0) == checksum)
    return Secret(text)


@rule("different sha256:<64 hex digits> of keys, separated by commas")
def operator_keys(text: str) -> tuple[bytes, ...]:
    """Parse SHA-256 digests of the operator's keys."""
    matches = [_DIGEST.match(item) for item in _items(text)]
    digests = tuple(bytes.fromhex(match.group(1)) for match in matches if match)
    _check(len(matches) == len(digests) == len(set(digests)), _NO_KEY not in digests)
    return digests


@rule(MasterKeysFault.UNREADABLE.value, is_secret=True)
def master_keys(text: str) -> MasterKeys:
    """Parse the master keys, the one for new secrets first."""
    keys = read_master_keys(text)
    if isinstance(keys, MasterKeysFault):
        raise InvalidText(keys.value)
    return keys


@rule("any, asset-contracts, or different C… addresses separated by commas")
def asset_policy(text: str) -> AssetRule | frozenset[Address]:
    if text in list(AssetRule):
        return AssetRule(text)
    contracts = [contract.parse(item) for item in _items(text)]
    _check(len(set(contracts)) == len(contracts))
    return frozenset(contracts)


@rule("the C… address of a contract")
def contract(text: str) -> Address:
    address = parse_contract(text)
    if address is None:
        raise ValueError
    return address


@rule("the G… or C… address of an account")
def party(text: str) -> Address:
    address = parse_party(text)
    if address is None:
        raise ValueError
    return address


@rule("name=address pairs separated by commas; a port only behind a loopback address")
def known_names(text: str) -> LoopbackResolver:
    """Parse host names and addresses for tests: `name=127.0.0.1:4443, other=10.0.0.1`.

    A loopback address with a port is a local server; any other address is the result of a
    look-up.
    """
    servers: dict[str, PinnedAddress] = {}
    addresses: dict[str, tuple[IPAddress, ...]] = {}
    for item in text.split(","):
        name, _, endpoint = (part.strip() for part in item.partition("="))
        match = _NAME_AND_PORT.match(endpoint)
        address = ipaddress.ip_address(match.group(1).strip("[]") if match else endpoint)
        _check(name)
        if match:
            servers[name] = PinnedAddress(address, int(match.group(2)))
        else:
            addresses[name] = (*addresses.get(name, ()), address)
    return LoopbackResolver(servers, FixedLookup(addresses))
