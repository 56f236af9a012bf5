"""Read the settings from the environment and an optional file, and report every fault."""

import difflib
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Final

from farebox.app.setting_fields import (
    PREFIX,
    SETTING,
    InvalidText,
    Setting,
    declared_in,
    sections_of,
    variable,
)
from farebox.app.setting_rules import is_loopback_host
from farebox.app.settings import Settings
from farebox.kernel.addresses import account_address
from farebox.stellar.signers import parse_secret_seed

CONFIG_NAME: Final = "FAREBOX_CONFIG"
KNOWN: Final = {variable(each.name, key): (each, key) for each, key in declared_in(Settings)}
_OTHER_TOOLS: Final = frozenset({"FAREBOX_CACHE"})  # read by the build scripts, not by the service


@dataclass(frozen=True, slots=True, order=True)
class SettingFault:
    """A variable and its requirement, without its value."""

    name: str
    requirement: str

    def __str__(self) -> str:
        return f"{self.name}: {self.requirement}"


class SettingsRefused(Exception):
    """The configuration is invalid; `faults` has everything that is wrong with it."""

    def __init__(self, faults: list[SettingFault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)


def read_settings(
    environment: Mapping[str, str], *, needs_network: bool = True, is_to_serve: bool = True
) -> Settings:
    """Read the settings of the environment and of the file it names; the environment prevails.

    Where a network is to be served, a setting without effect on it is refused.

    Raises:
        SettingsRefused: the settings are invalid; every fault is named.
    """
    faults: list[SettingFault] = []
    data_dir = {"FAREBOX_DATA_DIR": str(_default_data_dir(environment))}
    reader = _Reader(data_dir | _read_given(environment, faults), faults)
    settings: Settings = reader.section(Settings)
    faults += reader.compare(settings, is_served=needs_network and is_to_serve)
    if needs_network and not settings.networks and not faults:
        both = "set this and FAREBOX_RELAYER_SECRET_TESTNET, or the two of PUBNET"
        faults.append(SettingFault("FAREBOX_RPC_URL_TESTNET", f"no network is configured: {both}"))
    if faults:
        raise SettingsRefused(sorted(set(faults)))
    return settings


class _Reader:
    """Turns texts into sections and collects faults instead of stopping at the first."""

    def __init__(self, given: Mapping[str, str], faults: list[SettingFault]) -> None:
        self._given, self._faults = given, faults
        self._values = {name: self._value(name, *each) for name, each in KNOWN.items()}

    def _value(self, name: str, setting: Setting, key: Enum | None) -> Any:
        """Parse the given text, else the default."""
        source = name if name in self._given else variable(setting.fallback or setting.name, key)
        default = setting.default_of(key)
        try:
            if source in self._given:
                return setting.rule(self._given[source])
        except InvalidText as invalid:
            self._faults.append(SettingFault(source, str(invalid)))
        return None if default is None else setting.rule(default)

    def section(self, section: Any, key: Enum | None = None) -> Any:
        """Make the section from its values."""
        return section(**{own.name: self._field(own, key) for own in fields(section)})

    def _field(self, own: Field[Any], key: Enum | None) -> Any:
        if SETTING in own.metadata:
            return self._values[variable(own.metadata[SETTING].name, key)]
        match sections_of(own):
            case []:
                return key
            case [(section, None)]:
                return self.section(section)
            case keyed:
                return {each: self.section(of, each) for of, each in keyed if self._has(of, each)}

    def _has(self, section: Any, key: Enum | None) -> bool:
        """Whether every required setting of the section has a value."""
        required = [each.name for each, _ in declared_in(section) if each.is_required]
        return all(self._values[variable(name, key)] is not None for name in required)

    def compare(self, settings: Settings, *, is_served: bool) -> Iterator[SettingFault]:
        """Find faults between settings and, for served networks, settings without effect."""
        is_local = is_loopback_host(self._given.get("FAREBOX_HOST", settings.host))
        if not is_local:
            yield from self._unauthenticated(settings)
        yield from _revenue_of_operator(settings)
        named = {key for name, (_, key) in KNOWN.items() if key and name in self._given}
        for name, (setting, key) in KNOWN.items():
            if key in named and setting.is_required and name not in self._given:
                yield SettingFault(name, f"is needed to serve {key}")
            if setting.is_local and not is_local and self._values[name]:
                requirement = (
                    "set only with FAREBOX_HOST on a loopback address: it is for demos and tests"
                )
                yield SettingFault(name, requirement)
            requirements = list(self._unequal(name, setting, key))
            if is_served and key in settings.networks:
                requirements += self._without_effect(name, setting)
            yield from (SettingFault(name, each) for each in requirements)

    def _unauthenticated(self, settings: Settings) -> Iterator[SettingFault]:
        """Find missing settings of a service that other machines reach."""
        signs_in = settings.sign_in.signing_secret is not None
        if not (signs_in or settings.operator_keys):
            requirement = "a loopback address such as 127.0.0.1, until callers can be authenticated"
            needs = "set FAREBOX_OPERATOR_KEYS or FAREBOX_AUTH_SIGNING_SECRET first"
            yield SettingFault("FAREBOX_HOST", f"{requirement}: {needs}")
        if signs_in and "FAREBOX_PUBLIC_URL" not in self._given:
            requirement = (
                "is needed with FAREBOX_AUTH_SIGNING_SECRET where others reach the service"
            )
            yield SettingFault("FAREBOX_PUBLIC_URL", requirement)

    def _unequal(self, name: str, setting: Setting, key: Enum | None) -> Iterable[str]:
        for other in (variable(each, key) for each in setting.differs_from):
            if name in self._given and self._given[name] == self._given.get(other):
                yield f"another value than {other}"
        most = variable(setting.at_most, key)
        if setting.at_most and self._values[name] > self._values[most]:
            yield f"no more than {most}"

    def _without_effect(self, name: str, setting: Setting) -> Iterable[str]:
        needs = [PREFIX + each for each in setting.needs]
        if needs and self._values[name] and not self._given.keys() & needs:
            yield f"{setting.instead}: or set {' or '.join(needs)}"


def _revenue_of_operator(settings: Settings) -> Iterator[SettingFault]:
    """Find networks whose runs would be paid to an account that pays or signs for the operator."""
    for network, own in settings.networks.items():
        secrets = (own.relayer_secret, own.paymaster_secret, settings.sign_in.signing_secret)
        keys = [parse_secret_seed(each.reveal()) for each in secrets if each is not None]
        addresses = [account_address(bytes(key.reveal().verify_key)) for key in keys if key]
        if own.revenue_account in addresses:
            name = variable("REVENUE_ACCOUNT_<NETWORK>", network)
            yield SettingFault(name, "an account of its own: it pays or signs for the operator")


def _default_data_dir(environment: Mapping[str, str]) -> Path:
    """The default folder of the embedded database.

    The embedded server of a root user runs as `nobody`, who cannot enter root's home.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/farebox")
    share = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(share).expanduser() / "farebox"


def _read_given(environment: Mapping[str, str], faults: list[SettingFault]) -> dict[str, str]:
    """Collect the texts of the settings; empty ones are left out, unknown names are faults."""
    path = environment.get(CONFIG_NAME, "")
    given = _read_file(Path(path).expanduser(), faults) if path else {}
    given |= {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != CONFIG_NAME and name not in _OTHER_TOOLS
    }
    faults += [SettingFault(name, _describe_unknown(name)) for name in given.keys() - KNOWN.keys()]
    return {name: value.strip() for name, value in given.items() if value.strip()}


def _describe_unknown(name: str) -> str:
    if "FEE" in name and "STROOPS" not in name:
        return "Farebox takes no fee of its own on a payment in this version; remove it"
    near = _nearest(name)
    return "is not a setting; " + (f"did you mean {near}?" if near else "remove it")


def _nearest(name: str) -> str | None:
    """Find the setting with the most similar name."""
    return next(iter(difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8)), None)


def _read_file(path: Path, faults: list[SettingFault]) -> dict[str, str]:
    """Read the file's settings by their environment names: `rpc_url_testnet = "…"`."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content: dict[str, Any] = tomllib.load(file)
    except OSError:
        faults.append(SettingFault(CONFIG_NAME, "the path of a TOML file that can be read"))
        return {}
    except ValueError:  # a syntax error or bytes that are not UTF-8; its text may hold a secret
        faults.append(SettingFault(CONFIG_NAME, "a file in TOML: one `name = value` a line"))
        return {}
    given: dict[str, str] = {}
    for key, value in content.items():
        name = PREFIX + key.upper()
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            requirement = "text or a number in the file, not a table or list"
            faults.append(SettingFault(name, requirement))
            continue
        given[name] = str(value)
    nearest = {_nearest(name) for name in given} if mode & 0o077 else set()
    if any(setting.rule.is_secret for name, (setting, _) in KNOWN.items() if name in nearest):
        faults.append(SettingFault(CONFIG_NAME, "a file only its owner can read (chmod 600)"))
    return given
