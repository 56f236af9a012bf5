"""Read the settings from the environment and an optional file; name every fault at once."""

import difflib
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from farebox.app import setting_rules as rules
from farebox.app.half_set import half_set
from farebox.app.settings import (
    IngressSettings,
    NetworkSettings,
    OutboundSettings,
    Settings,
    SignInSettings,
    default_data_dir,
)
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.verification.served_network import AssetPolicy, AssetRule
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret

T = TypeVar("T")
PREFIX: Final = "FAREBOX_"
CONFIG_NAME: Final = "FAREBOX_CONFIG"
OTHER_TOOLS: Final = frozenset({"FAREBOX_CACHE"})  # read by the build scripts, not by the service

_SERVICE: Final = frozenset(
    {
        "HOST",
        "PORT",
        "DATABASE_URL",
        "DATA_DIR",
        "LOG_LEVEL",
        "LOG_FILE",
        "EXPIRY_TOLERANCE_LEDGERS",
        "MIN_LIFE_LEDGERS",
        "TRANSACTION_LIFE_S",
        "SETTLE_DEADLINE_S",
        "STOP_GRACE_S",
        "CHANNEL_WAIT_S",
        "RPC_TIMEOUT_S",
        "CLOCK_POLL_S",
        "CATALOG_LOCAL",
        "CATALOG_PROBE",
        "PUBLIC_URL",
        "AUTH_SIGNING_SECRET",
        "CHALLENGES_PER_MINUTE",
        "OUTBOUND_TEST_AUTHORITY",
        "OUTBOUND_TEST_RESOLVER",
        "OPERATOR_KEYS",
        "MASTER_KEYS",
        "AUDIT_DAYS",
        "RATE_PER_ADDRESS",
        "RATE_PER_KEY",
        "SEARCH_SEMANTIC",
        "TRUSTED_PROXIES",
    }
)
_NETWORK: Final = frozenset(
    {
        "RPC_URL",
        "FALLBACK_RPC_URL",
        "RPC_AUTHORITY",
        "RELAYER_SECRET",
        "PAYMASTER_SECRET",
        "MAX_FEE_STROOPS",
        "MAX_INCLUSION_FEE_STROOPS",
        "ASSETS",
        "BUDGET_TOTAL_STROOPS",
        "BUDGET_PAYER_STROOPS",
        "BUDGET_PAY_TO_STROOPS",
        "BUDGET_KEY_STROOPS",
        "BUDGET_ASSET_STROOPS",
        "PAYER_LOSS_STROOPS",
        "BALANCE_FLOOR_STROOPS",
        "WEB_AUTH_CONTRACT",
        "FACILITATOR_AUTH",
    }
)
_MANY: Final = 1_000_000  # requests a minute
_XLM: Final = 10_000_000  # stroops
_SUFFIXES: Final = {network: f"_{network.label.upper()}" for network in Network}
KNOWN: Final = frozenset(
    {PREFIX + name for name in _SERVICE}
    | {PREFIX + name + suffix for name in _NETWORK for suffix in _SUFFIXES.values()}
)
_SECRETS: Final = (
    "_SECRET",
    "_SECRET_TESTNET",
    "_SECRET_PUBNET",
    "_DATABASE_URL",
    "_URL_TESTNET",
    "_URL_PUBNET",
    "_MASTER_KEYS",
)


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing to put right: the variable and what is wanted of it, never what it holds."""

    name: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.name}: {self.wanted}"


class SettingsRefused(Exception):
    """The configuration cannot be served; `faults` names everything that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)


def read_settings(
    environment: Mapping[str, str], *, needs_network: bool = True, is_to_serve: bool = True
) -> Settings:
    """The settings of this environment and of the file it names; the environment goes first.

    Where a network is to be served, what would be without effect there is refused.

    Raises:
        SettingsRefused: something is wrong; all of it is named.
    """
    faults: list[Fault] = []
    given = _given(environment, faults)
    reading = _Reading(given, faults)
    settings = reading.settings(default_data_dir(environment))
    if needs_network and not settings.networks and not faults:
        faults.append(_NO_NETWORK)
    if needs_network and is_to_serve:
        faults.extend(Fault(*each) for each in half_set(settings, given, _SUFFIXES, PREFIX))
    if faults:
        raise SettingsRefused(sorted(set(faults)))
    return settings


def _given(environment: Mapping[str, str], faults: list[Fault]) -> dict[str, str]:
    given: dict[str, str] = {}
    path = environment.get(CONFIG_NAME, "")
    if path:
        given |= _file(Path(path).expanduser(), faults)
    given |= {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != CONFIG_NAME and name not in OTHER_TOOLS
    }
    faults.extend(Fault(name, _unknown(name)) for name in given.keys() - KNOWN)
    return {name: value.strip() for name, value in given.items() if value.strip()}


def faults_off_loopback(settings: Settings, host: str) -> list[Fault]:
    """What must not be, or is missing, where others than this machine can reach the service.

    Nobody could show a key to a service that has none: it stays on the loopback.
    """
    if rules.is_loopback_host(host):
        return []
    can_show = settings.operator_keys or settings.sign_in.signing_secret is not None
    faults = [] if can_show else [_NO_KEYS]
    named = {
        "CATALOG_LOCAL": settings.lists_local_urls,
        "OUTBOUND_TEST_AUTHORITY": settings.outbound.test_authority is not None,
        "OUTBOUND_TEST_RESOLVER": settings.outbound.test_resolver is not None,
    }
    wanted = f"set only with {PREFIX}HOST on a loopback address: it is for demos and tests"
    return faults + [Fault(PREFIX + name, wanted) for name, is_set in named.items() if is_set]


def _unknown(name: str) -> str:
    if "FEE" in name and "STROOPS" not in name:
        return "Farebox takes no fee of its own on a payment in this version; remove it"
    near = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8)
    return "is not a setting; " + (f"did you mean {near[0]}?" if near else "remove it")


def _file(path: Path, faults: list[Fault]) -> dict[str, str]:
    """The file's settings under their environment names: `rpc_url_testnet = "…"`."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content: dict[str, Any] = tomllib.load(file)
    except OSError:
        faults.append(Fault(CONFIG_NAME, "the path of a TOML file that can be read"))
        return {}
    except ValueError:  # a syntax error or bytes that are not UTF-8; its text may hold a secret
        faults.append(Fault(CONFIG_NAME, "a file in TOML: one `name = value` a line"))
        return {}
    given: dict[str, str] = {}
    for key, value in content.items():
        name = PREFIX + key.upper()
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            faults.append(Fault(name, "text or a number in the file, not a table or list"))
            continue
        given[name] = str(value)
    if mode & 0o077 and any(name.endswith(_SECRETS) for name in given):
        faults.append(Fault(CONFIG_NAME, "a file only its owner can read (chmod 600)"))
    return given


class _Reading:
    """One pass over the given texts that collects faults instead of stopping at the first."""

    def __init__(self, given: Mapping[str, str], faults: list[Fault]) -> None:
        self._given, self._faults = given, faults

    def _value(self, name: str, rule: Callable[[str], T], default: T) -> T:
        text = self._given.get(PREFIX + name)
        if text is None:
            return default
        try:
            return rule(text)
        except rules.Unwanted as unwanted:
            self._faults.append(Fault(PREFIX + name, unwanted.wanted))
            return default

    def settings(self, data_dir: Path) -> Settings:
        networks = {
            network: found for network in Network if (found := self._network(network)) is not None
        }
        settings = Settings(
            host=self._value("HOST", rules.host, "127.0.0.1"),
            port=self._value("PORT", rules.whole(0, 65535), 8402),
            database_url=self._value("DATABASE_URL", rules.database_url, None),
            data_dir=self._value("DATA_DIR", rules.some_path, data_dir),
            log_level=self._value("LOG_LEVEL", rules.log_level, rules.LogLevel.INFO),
            log_file=self._value("LOG_FILE", rules.some_path, None),
            networks=networks,
            expiry_tolerance_ledgers=self._value("EXPIRY_TOLERANCE_LEDGERS", rules.whole(0, 10), 2),
            min_life_ledgers=self._value("MIN_LIFE_LEDGERS", rules.whole(1, 60), 3),
            transaction_life_s=self._value("TRANSACTION_LIFE_S", rules.whole(10, 300), 45),
            settle_deadline_s=self._value("SETTLE_DEADLINE_S", rules.seconds(1, 300), 50.0),
            channel_wait_s=self._value("CHANNEL_WAIT_S", rules.seconds(0, 60), 10.0),
            stop_grace_s=self._value("STOP_GRACE_S", rules.seconds(0, 300), 20.0),
            rpc_timeout_s=self._value("RPC_TIMEOUT_S", rules.seconds(0.1, 60), 10.0),
            clock_poll_s=self._value("CLOCK_POLL_S", rules.seconds(0.05, 60), 2.0),
            lists_local_urls=self._value("CATALOG_LOCAL", rules.switch, _OFF),
            outbound=self._outbound(),
            catalog_probe=self._value("CATALOG_PROBE", rules.switch, _OFF),
            sign_in=self._sign_in(),
            ingress=self._ingress(),
            operator_keys=self._value("OPERATOR_KEYS", rules.operator_keys, ()),
            master_keys=self._value("MASTER_KEYS", rules.master_keys, None),
            audit_days=self._value("AUDIT_DAYS", rules.whole(1, 36_500), 400),
            searches_meaning=self._value("SEARCH_SEMANTIC", rules.where_possible, _ON),
        )
        self._judge_secrets(settings)
        host = self._given.get(PREFIX + "HOST", settings.host)
        self._judge_sign_in(settings.sign_in, host)
        self._faults.extend(faults_off_loopback(settings, host))
        return settings

    def _outbound(self) -> OutboundSettings:
        return OutboundSettings(
            test_authority=self._value("OUTBOUND_TEST_AUTHORITY", rules.readable_file, None),
            test_resolver=self._value("OUTBOUND_TEST_RESOLVER", rules.known_names, None),
        )

    def _ingress(self) -> IngressSettings:
        return IngressSettings(
            rate_per_address=self._value("RATE_PER_ADDRESS", rules.whole(0, _MANY), 600),
            rate_per_key=self._value("RATE_PER_KEY", rules.whole(0, _MANY), 6_000),
            trusted_proxies=self._value("TRUSTED_PROXIES", rules.proxies, ()),
        )

    def _sign_in(self) -> SignInSettings:
        return SignInSettings(
            public_url=self._value("PUBLIC_URL", rules.public_url, None),
            signing_secret=self._value("AUTH_SIGNING_SECRET", rules.secret_seed, None),
            challenges_per_minute=self._value("CHALLENGES_PER_MINUTE", rules.whole(0, 10_000), 30),
        )

    def _judge_sign_in(self, sign_in: SignInSettings, host: str) -> None:
        """Off loopback the name in a challenge must not be whatever a request says it is."""
        is_named = sign_in.public_url is not None or PREFIX + "PUBLIC_URL" in self._given
        if sign_in.signing_secret is not None and not is_named and not rules.is_loopback_host(host):
            wanted = f"is needed with {PREFIX}AUTH_SIGNING_SECRET where others reach the service"
            self._faults.append(Fault(f"{PREFIX}PUBLIC_URL", wanted))

    def _network(self, network: Network) -> NetworkSettings | None:
        """None when no setting names the network, or when those that do cannot stand."""
        suffix = _SUFFIXES[network]
        if not any(PREFIX + name + suffix in self._given for name in _NETWORK):
            return None
        url = self._value("RPC_URL" + suffix, rules.rpc_url, None)
        relayer = self._value("RELAYER_SECRET" + suffix, rules.secret_seed, None)
        for name in ("RPC_URL", "RELAYER_SECRET"):
            if PREFIX + name + suffix not in self._given:
                self._faults.append(
                    Fault(PREFIX + name + suffix, f"is needed to serve {network.value}")
                )
        paymaster = self._value("PAYMASTER_SECRET" + suffix, rules.secret_seed, None)
        authority = self._value("RPC_AUTHORITY" + suffix, rules.readable_file, None)
        default: AssetPolicy = AssetRule.ANY if network is Network.TESTNET else _ASSET_CONTRACTS
        assets = self._value("ASSETS" + suffix, rules.asset_policy, default)
        fee = self._value("MAX_FEE_STROOPS" + suffix, rules.whole(100, 10**9), 500_000)
        bid = self._value("MAX_INCLUSION_FEE_STROOPS" + suffix, rules.whole(100, 10**9), 100_000)
        if bid > fee:
            self._faults.append(
                Fault(f"{PREFIX}MAX_INCLUSION_FEE_STROOPS{suffix}", "no more than MAX_FEE_STROOPS")
            )
        if url is None or relayer is None:
            return None
        return NetworkSettings(
            network=network,
            rpc_url=url,
            fallback_rpc_url=self._fallback(suffix, url),
            rpc_authority=authority,
            relayer_secret=relayer,
            paymaster_secret=paymaster,
            max_fee=Stroops(fee),
            max_inclusion_fee=Stroops(bid),
            assets=assets,
            budgets=self._budgets(suffix, assets),
            needs_key=self._value(
                "FACILITATOR_AUTH" + suffix, rules.access, network is Network.PUBNET
            ),
            balance_floor=self._stroops("BALANCE_FLOOR_STROOPS" + suffix, 5 * _XLM),
            web_auth_contract=self._value("WEB_AUTH_CONTRACT" + suffix, rules.contract, None),
        )

    def _fallback(self, suffix: str, url: Secret[str] | None) -> Secret[str] | None:
        fallback = self._value("FALLBACK_RPC_URL" + suffix, rules.rpc_url, None)
        if fallback is not None and url is not None and fallback.reveal() == url.reveal():
            wanted = f"another node than {PREFIX}RPC_URL{suffix}"
            self._faults.append(Fault(f"{PREFIX}FALLBACK_RPC_URL{suffix}", wanted))
        return fallback

    def _budgets(self, suffix: str, assets: AssetPolicy) -> Budgets:
        return Budgets(
            total=self._stroops("BUDGET_TOTAL_STROOPS" + suffix, 200 * _XLM),
            payer=self._stroops("BUDGET_PAYER_STROOPS" + suffix, 2 * _XLM),
            pay_to=self._stroops("BUDGET_PAY_TO_STROOPS" + suffix, 20 * _XLM),
            key=self._stroops("BUDGET_KEY_STROOPS" + suffix, 0),
            asset=self._stroops("BUDGET_ASSET_STROOPS" + suffix, 0),
            payer_loss=self._stroops("PAYER_LOSS_STROOPS" + suffix, _XLM // 10),
            named_assets=assets if isinstance(assets, frozenset) else frozenset(),
        )

    def _stroops(self, name: str, default: int) -> Stroops:
        return Stroops(self._value(name, rules.whole(0, 10**15 - 1), default))

    def _judge_secrets(self, settings: Settings) -> None:
        """A relayer that is a paymaster somewhere could be made to pay for itself."""
        relayers = {found.relayer_secret.reveal() for found in settings.networks.values()}
        for network, found in settings.networks.items():
            if found.paymaster_secret is not None and found.paymaster_secret.reveal() in relayers:
                name = f"{PREFIX}PAYMASTER_SECRET{_SUFFIXES[network]}"
                self._faults.append(Fault(name, "another account than every relayer's"))
        signing = settings.sign_in.signing_secret
        paymasters = {
            found.paymaster_secret.reveal()
            for found in settings.networks.values()
            if found.paymaster_secret is not None
        }
        if signing is not None and signing.reveal() in relayers | paymasters:
            wanted = "an account of its own, that of no relayer and no paymaster"
            self._faults.append(Fault(f"{PREFIX}AUTH_SIGNING_SECRET", wanted))


_OFF: Final = False
_ON: Final = True
_ASSET_CONTRACTS: Final = AssetRule.ASSET_CONTRACTS
_NO_KEYS: Final = Fault(
    f"{PREFIX}HOST",
    f"a loopback address such as 127.0.0.1, until callers can be authenticated: set {PREFIX}"
    f"OPERATOR_KEYS or {PREFIX}AUTH_SIGNING_SECRET first",
)
_NO_NETWORK: Final = Fault(
    "FAREBOX_RPC_URL_TESTNET",
    "no network is configured: set this and FAREBOX_RELAYER_SECRET_TESTNET, or the two of PUBNET",
)
