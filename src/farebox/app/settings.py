"""The configuration as one frozen value, read once and checked whole before anything listens."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from farebox.app.setting_rules import KnownNames, LogLevel
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.verification.served_network import AssetPolicy
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.vault.master_keys import MasterKeys


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How one network is reached and who pays its fees."""

    network: Network
    rpc_url: Secret[str]
    fallback_rpc_url: Secret[str] | None  # another node, asked where the first one fails
    rpc_authority: Path | None  # a PEM file trusted beside the system's authorities
    relayer_secret: Secret[str]
    paymaster_secret: Secret[str] | None
    max_fee: Stroops  # the most one settlement may cost, fee bump included
    max_inclusion_fee: Stroops  # the most bid for a place in a ledger
    assets: AssetPolicy
    budgets: Budgets
    needs_key: bool  # who has payments judged and settled must show a credential
    balance_floor: Stroops  # below it nothing is settled; below twice that readiness warns
    web_auth_contract: Address | None  # None: contract accounts cannot sign in


@dataclass(frozen=True, slots=True)
class OutboundSettings:
    """How other people's addresses are found and trusted; all of it for tests alone."""

    test_authority: Path | None  # a PEM file trusted beside the system's authorities
    test_resolver: KnownNames | None  # asked in place of every nameserver


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """How wallets sign in."""

    public_url: str | None  # scheme, host and port; None: this machine alone
    signing_secret: Secret[str] | None  # signs challenges; None: nobody can sign in
    challenges_per_minute: int  # of one client address; 0: any number


@dataclass(frozen=True, slots=True)
class IngressSettings:
    """How often who may ask, and who says from where."""

    rate_per_address: int  # requests a minute of one who shows nothing; 0 = off
    rate_per_key: int  # requests a minute of one key; 0 = off
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]  # whose word on addresses is taken


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything an operator decides."""

    host: str
    port: int  # 0 = any free one
    database_url: Secret[str] | None  # None: the embedded server, data under `data_dir`
    data_dir: Path
    log_level: LogLevel
    log_file: Path | None  # None: standard error
    networks: Mapping[Network, NetworkSettings]
    expiry_tolerance_ledgers: int
    min_life_ledgers: int
    transaction_life_s: int
    settle_deadline_s: float
    channel_wait_s: float
    stop_grace_s: float  # from being told to stop until what is pending is handed over
    rpc_timeout_s: float
    clock_poll_s: float
    lists_local_urls: bool  # for demo and tests; on a loopback bind only
    outbound: OutboundSettings
    sign_in: SignInSettings
    ingress: IngressSettings
    operator_keys: tuple[bytes, ...]  # SHA-256 digests; none: nobody is the operator
    master_keys: MasterKeys | None  # None: no secrets are kept
    audit_days: int  # how long the audit trail is kept
    searches_meaning: bool  # where the language model is installed
    catalog_probe: bool  # whether listed resources are asked now and then if they are alive


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Where a first run keeps its database.

    The embedded server of a root user runs as `nobody`, who cannot enter root's home.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/farebox")
    share = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(share).expanduser() / "farebox"
