"""Every setting, declared once: name, rule, default, description and dependencies.

`configuration.py` reads and validates them, and `settings_reference.py` lists them for operators.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.app import setting_rules as rules
from farebox.app.setting_fields import optional, setting
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.verification.operator_rules import AssetPolicy, named_assets
from farebox.ingress.http import Rates
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.outbound.resolve import LoopbackResolver
from farebox.vault.master_keys import MasterKeys
from farebox.web.endpoint import RateClass

HEALTH_CONNECTIONS: Final = 1  # to the database, for readiness alone
_RELAYERS: Final = tuple(f"RELAYER_SECRET_{each.name}" for each in Network)
_PAYMASTERS: Final = tuple(f"PAYMASTER_SECRET_{each.name}" for each in Network)
_SIZE: Final = rules.whole(2, 500)
_FEE: Final = rules.stroops(100, 10**9)
_BUDGET: Final = rules.stroops(0, 10**15 - 1)
_PRICE: Final = rules.base_units(0, 10**15 - 1)
_RATE: Final = rules.whole(0, 1_000_000)
_SWITCH: Final = rules.either("0", "1")

# fmt: off
# a table: each setting with its rule and default on one line, its sentence below


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The limits of a process's connections to the database."""

    money: int = setting("DATABASE_CONNECTIONS_MONEY", _SIZE, "10",
        "connections for settlements (see Connections)")
    reads: int = setting("DATABASE_CONNECTIONS_READS", _SIZE, "5",
        "the same for browsing, searching, accounts and look-ups")
    background: int = setting("DATABASE_CONNECTIONS_BACKGROUND", _SIZE, "4",
        "the same for loops")
    is_pooled: bool = setting("DATABASE_POOLER", rules.either("none", "transaction"), "none",
        "`transaction` where `FAREBOX_DATABASE_URL` leads to PgBouncer in transaction mode")

    @property
    def total(self) -> int:
        """The maximum for one process."""
        return self.money + self.reads + self.background + HEALTH_CONNECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """One network: its nodes, accounts, fees and budgets."""

    network: Network
    rpc_url: Secret[str] = setting("RPC_URL_<NETWORK>", rules.rpc_url, None,
        "the node for all calls")
    fallback_rpc_url: Secret[str] | None = optional("FALLBACK_RPC_URL_<NETWORK>", rules.rpc_url,
        "another node, called where the first one fails", differs_from=("RPC_URL_<NETWORK>",))
    rpc_authority: Path | None = optional("RPC_AUTHORITY_<NETWORK>", rules.readable_file,
        "a PEM file trusted in addition to the system's authorities")
    rpc_simulations: int = setting("RPC_SIMULATIONS_<NETWORK>", rules.whole(4, 1_000), "64",
        "concurrent simulations of each process at a node (see Who may use the facilitator)")
    relayer_secret: Secret[str] = setting("RELAYER_SECRET_<NETWORK>", rules.secret_seed, None,
        "the account that sends and pays")
    paymaster_secret: Secret[str] | None = optional(
        "PAYMASTER_SECRET_<NETWORK>", rules.secret_seed,
        "the account that pays for the runs of plans; without it there is no automation there",
        differs_from=_RELAYERS)
    automation_max_fee: Stroops = setting("AUTOMATION_MAX_FEE_STROOPS_<NETWORK>", _FEE, "5000000",
        "the most one transaction of a run may cost, fee bump included; a plan may set less")
    automation_install_fee: Stroops = setting(
        "AUTOMATION_INSTALL_FEE_STROOPS_<NETWORK>", _FEE, "50000000",
        "the same for installing the session of a plan, which also pays to keep its entries on the "
        "ledger until the plan ends")
    automation_budget_total: Stroops = setting(
        "AUTOMATION_BUDGET_TOTAL_STROOPS_<NETWORK>", _BUDGET, "2000000000",
        "the most that the runs of a UTC day may cost; 0 = off, here and below")
    automation_budget_owner: Stroops = setting(
        "AUTOMATION_BUDGET_OWNER_STROOPS_<NETWORK>", _BUDGET, "200000000",
        "the same for each owner of plans")
    automation_balance_floor: Stroops = setting(
        "AUTOMATION_BALANCE_FLOOR_STROOPS_<NETWORK>", _BUDGET, "50000000",
        "the least the paymaster must have above its reserves; below it no run is claimed, and "
        "readiness warns")
    revenue_account: Address | None = optional("REVENUE_ACCOUNT_<NETWORK>", rules.party,
        "the account that the runs of plans are paid to, none of the operator's accounts above; "
        "without it they cost nothing")
    run_asset: Address | None = optional("RUN_ASSET_<NETWORK>", rules.contract,
        "the token that runs are paid in, which must be settled (`FAREBOX_ASSETS_<NETWORK>`)",
        "USDC")
    run_price: BaseUnits = setting("RUN_PRICE_<NETWORK>", _PRICE,
        {Network.TESTNET: "0", Network.PUBNET: "10000"},
        "the least that one run costs, in base units of that token; with this and the next two at "
        "0, runs cost nothing (see Prices of runs)")
    run_setup_price: BaseUnits = setting("RUN_SETUP_PRICE_<NETWORK>", _PRICE, "0",
        "what a plan costs besides its runs, once")
    run_units_per_xlm: BaseUnits = setting("RUN_UNITS_PER_XLM_<NETWORK>", _PRICE,
        {Network.TESTNET: "0", Network.PUBNET: "4000000"},
        "base units of that token for one XLM: a run costs three times its simulated network fee, "
        "and `FAREBOX_RUN_PRICE_<NETWORK>` at least")
    session_guard: Address | None = optional("SESSION_GUARD_<NETWORK>", rules.contract,
        "the contract that bounds the sessions of smart accounts, as `farebox automation deploy` "
        "prints it; this and the two below are needed for plans of the mode `session`")
    session_verifier: Address | None = optional("SESSION_VERIFIER_<NETWORK>", rules.contract,
        "the contract that verifies the keys of sessions")
    session_installer: Address | None = optional("SESSION_INSTALLER_<NETWORK>", rules.contract,
        "the contract by which an owner installs a session with one signature")
    mandate_factory: Address | None = optional("MANDATE_FACTORY_<NETWORK>", rules.contract,
        "the contract that makes mandates; without it there are no plans of the mode `mandate`")
    soroswap_router: Address | None = optional("SOROSWAP_ROUTER_<NETWORK>", rules.contract,
        "the router by which plans trade on Soroswap")
    aquarius_router: Address | None = optional("AQUARIUS_ROUTER_<NETWORK>", rules.contract,
        "the same on Aquarius")
    max_fee: Stroops = setting("MAX_FEE_STROOPS_<NETWORK>", _FEE, "500000",
        "the most one settlement may cost, fee bump included")
    max_inclusion_fee: Stroops = setting("MAX_INCLUSION_FEE_STROOPS_<NETWORK>", _FEE, "100000",
        "the most bid for a place in a ledger", at_most="MAX_FEE_STROOPS_<NETWORK>")
    assets: AssetPolicy = setting("ASSETS_<NETWORK>", rules.asset_policy,
        {Network.TESTNET: "any", Network.PUBNET: "asset-contracts"},
        "the tokens that are settled; a payment under way goes on when its token leaves the list")
    budget_total: Stroops = setting("BUDGET_TOTAL_STROOPS_<NETWORK>", _BUDGET, "2000000000",
        "the most the network may cost in a UTC day; 0 = off, here and below")
    budget_payer: Stroops = setting("BUDGET_PAYER_STROOPS_<NETWORK>", _BUDGET, "20000000",
        "the same for each payer")
    budget_pay_to: Stroops = setting("BUDGET_PAY_TO_STROOPS_<NETWORK>", _BUDGET, "500000000",
        "for each recipient")
    budget_key: Stroops = setting("BUDGET_KEY_STROOPS_<NETWORK>", _BUDGET, "500000000",
        "for each established caller, all of its keys together; for all other callers together "
        "(see What the operator pays for)")
    budget_asset: Stroops = setting("BUDGET_ASSET_STROOPS_<NETWORK>", _BUDGET, "0",
        "for each asset that `FAREBOX_ASSETS_<NETWORK>` names; for USDC where that is no list")
    payer_loss: Stroops = setting("PAYER_LOSS_STROOPS_<NETWORK>", _BUDGET, "1000000",
        "a payer whose failed payments of a UTC day cost this much, or with those under way may, "
        "is refused")
    balance_floor: Stroops = setting("BALANCE_FLOOR_STROOPS_<NETWORK>", _BUDGET, "50000000",
        "the least the relayer must have above its reserves; below twice that readiness warns")
    needs_key: bool = setting("FACILITATOR_AUTH_<NETWORK>", rules.either("open", "required"),
        {Network.TESTNET: "open", Network.PUBNET: "required"},
        "whether `/verify` and `/settle` need a credential there",
        needs=("OPERATOR_KEYS", "AUTH_SIGNING_SECRET"),
        instead="open, because no key exists without them")
    web_auth_contract: Address | None = optional("WEB_AUTH_CONTRACT_<NETWORK>", rules.contract,
        "the contract by which contract accounts sign in, as `farebox auth deploy` prints it; "
        "without it they cannot",
        needs=("AUTH_SIGNING_SECRET",), instead="left out, because sign-in is not configured")

    @property
    def budgets(self) -> Budgets:
        """The most the network may cost in a UTC day."""
        return Budgets(
            total=self.budget_total,
            payer=self.budget_payer,
            pay_to=self.budget_pay_to,
            key=self.budget_key,
            asset=self.budget_asset,
            payer_loss=self.payer_loss,
            named_assets=named_assets(self.assets, self.network),
        )


@dataclass(frozen=True, slots=True)
class RateSettings:
    """The most requests of one class in a minute."""

    per_address: int = setting("RATE_<CLASS>_PER_ADDRESS", _RATE,
        dict.fromkeys(RateClass, "600") | {RateClass.GATEWAY: "6000"},
        "requests a minute of one client address, by class (see Rates); 0 = off, here and below",
        fallback="RATE_PER_ADDRESS")
    per_key: int = setting("RATE_<CLASS>_PER_KEY", _RATE, "6000",
        "requests a minute of one key, session owner or operator, where it is counted by itself",
        fallback="RATE_PER_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressSettings:
    """Rate limits, connections of callers and trusted proxies."""

    rates_by_class: Mapping[RateClass, RateSettings]  # the two below are in it already
    rate_per_address: int | None = optional("RATE_PER_ADDRESS", _RATE,
        "the same for every class without a setting of its own")
    rate_per_key: int | None = optional("RATE_PER_KEY", _RATE,
        "the same for every class without a setting of its own")
    changes_per_minute: int = setting("CHANGES_PER_MINUTE", rules.whole(0, 10_000), "30",
        "changes that one owner makes in a minute: keys and secrets made or rotated, wrappers "
        "created, changed, checked or enabled, plans proposed; 0 = off")
    trusted_proxies: tuple[rules.IPNetwork, ...] = setting("TRUSTED_PROXIES", rules.proxies, "",
        "proxies whose headers on client addresses are trusted; `::ffff:10.0.0.1` is `10.0.0.1`")
    connections: int = setting("CONNECTIONS", rules.whole(16, 1_000_000), "4096",
        "connections of callers that are open at a time; fewer where the process may not open as "
        "many files (see The front door)")
    connections_per_address: int = setting(
        "CONNECTIONS_PER_ADDRESS", rules.whole(0, 1_000_000), "512",
        "of one client address, those of trusted proxies apart; 0 = any number")
    allowed_hosts: tuple[str, ...] = setting("ALLOWED_HOSTS", rules.host_names, "",
        "further host names that requests may carry (see The front door)")

    @property
    def rates(self) -> Rates:
        """The most requests a minute of an address and of a key, by class."""
        own = self.rates_by_class
        return Rates(
            per_address={of: rate.per_address for of, rate in own.items()},
            per_key={of: rate.per_key for of, rate in own.items()},
        )


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """How wallets sign in."""

    public_url: str | None = optional("PUBLIC_URL", rules.public_url,
        "where wallets and browsers find the service; its host stands in every challenge. Needed "
        "with `FAREBOX_AUTH_SIGNING_SECRET` where others reach the service", "this machine")
    signing_secret: Secret[str] | None = optional("AUTH_SIGNING_SECRET", rules.secret_seed,
        "the account that signs challenges; without it sign-in is off "
        "(see [Accounts](accounts.md))", differs_from=_RELAYERS + _PAYMASTERS)
    challenges_per_minute: int = setting("CHALLENGES_PER_MINUTE", rules.whole(0, 10_000), "30",
        "challenges that one client address gets in a minute, over all replicas; 0 = any number")


@dataclass(frozen=True, slots=True)
class OutboundSettings:
    """Calls to foreign addresses; their resolution and trust in tests."""

    gateway_calls: int = setting("GATEWAY_CALLS", rules.whole(1, 10_000), "512",
        "paid requests of the gateway that are in progress at a time; an owner has a share of them "
        "(see The gateway), and a further one is answered 503 before anything is charged")
    agent_calls: int = setting("AGENT_CALLS", rules.whole(8, 1_000), "96",
        "calls of `paid_call` that are in progress at a time: half of them are for calls with a "
        "payment, and a caller has a share of each half (see Agents); a further one is refused")
    test_authority: Path | None = optional("OUTBOUND_TEST_AUTHORITY", rules.readable_file,
        "a PEM file trusted by calls to other people's addresses", is_local=True)
    test_resolver: LoopbackResolver | None = optional(
        "OUTBOUND_TEST_RESOLVER", rules.known_names,
        "`name=127.0.0.1:4443,…` in place of every nameserver", is_local=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings."""

    host: str = setting("HOST", rules.host, "127.0.0.1",
        "another address than the loopback only where callers can authenticate: with "
        "`FAREBOX_OPERATOR_KEYS` or `FAREBOX_AUTH_SIGNING_SECRET`")
    port: int = setting("PORT", rules.whole(0, 65535), "8402",
        "0 takes any free one")
    database_url: Secret[str] | None = optional("DATABASE_URL", rules.database_url,
        "the database", "embedded")
    connections: ConnectionSettings
    data_dir: Path = setting("DATA_DIR", rules.some_path, None,
        "the folder of the embedded server", absent="the user's data folder")
    log_level: rules.LogLevel = setting("LOG_LEVEL", rules.log_level, "info",
        "the minimum severity of events that are written")
    log_file: Path | None = optional("LOG_FILE", rules.some_path,
        "one JSON object a line", "standard error")
    networks: Mapping[Network, NetworkSettings]
    ingress: IngressSettings
    expiry_tolerance_ledgers: int = setting("EXPIRY_TOLERANCE_LEDGERS", rules.whole(0, 10), "2",
        "how much later than computed an authorization may expire")
    min_life_ledgers: int = setting("MIN_LIFE_LEDGERS", rules.whole(1, 60), "3",
        "an authorization with less life left is refused, and so is one that ends, at the pace of "
        "the ledgers, before the ledger after next (10 s on the public networks): no node takes "
        "its envelope")
    transaction_life_s: int = setting("TRANSACTION_LIFE_S", rules.whole(10, 300), "45",
        "time bound of an envelope after the last close, in seconds")
    settle_deadline_s: float = setting("SETTLE_DEADLINE_S", rules.seconds(1, 300), "50",
        "when `/settle` answers at the latest")
    stop_grace_s: float = setting("STOP_GRACE_S", rules.seconds(0, 300), "20",
        "how long a stopping service completes open settlements; those still pending are "
        "answered as such and handed over. Keep it about 10 s below the time after which the "
        "orchestrator kills the process")
    channel_wait_s: float = setting("CHANNEL_WAIT_S", rules.seconds(0, 60), "10",
        "how long a settlement waits for a source account; then 503, nothing sent")
    rpc_timeout_s: float = setting("RPC_TIMEOUT_S", rules.seconds(0.1, 60), "10",
        "deadline of one call; a node and its fallback have half of it each")
    clock_poll_s: float = setting("CLOCK_POLL_S", rules.seconds(0.05, 60), "2",
        "how often the newest ledger is read")
    ledger_time_tolerance_s: int = setting("LEDGER_TIME_TOLERANCE_S", rules.whole(0, 1800), "120",
        "how far a node's close time may be ahead of the database's clock; beyond it the node's "
        "response counts as none (0 = any, for a network whose clock is moved)")
    contact: str | None = optional("CONTACT", rules.contact,
        "who runs the service: an https:// URL or an e-mail address, shown as `info.contact` of "
        "`/openapi.json`", "nobody is named")
    lists_local_urls: bool = setting("CATALOG_LOCAL", _SWITCH, "0",
        "1 lists local URLs too", is_local=True)
    catalog_probe: bool = setting("CATALOG_PROBE", _SWITCH, "0",
        "1 probes listed resources periodically: whether they are alive and who owns them")
    searches_meaning: bool = setting("SEARCH_SEMANTIC", rules.either("off", "auto"), "auto",
        "`auto` finds what is meant where the language model is installed (see Search), `off` "
        "goes by words alone")
    sign_in: SignInSettings
    operator_keys: tuple[bytes, ...] = setting("OPERATOR_KEYS", rules.operator_keys, "",
        "SHA-256 of the operator's keys (see [Accounts](accounts.md)); without any there is no "
        "operator")
    master_keys: MasterKeys | None = optional("MASTER_KEYS", rules.master_keys,
        "random keys of 32 bytes that sellers' secrets are sealed with, the one for new ones first "
        "(see Master keys); without any the vault answers 503")
    audit_days: int = setting("AUDIT_DAYS", rules.whole(1, 36_500), "400",
        "how many days the audit trail is kept")
    automation_days: int = setting("AUTOMATION_DAYS", rules.whole(1, 36_500), "90",
        "how many days attempts and events are kept of a plan that has ended; its runs, receipts "
        "and payments stay")
    console_dir: Path | None = optional("CONSOLE_DIR", rules.some_path,
        "the folder of another build of the console", "the one in the package", is_local=True)
    outbound: OutboundSettings
