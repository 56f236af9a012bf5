"""The composition root of the vault and the audit log."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.lifespan import restart_on_failure
from farebox.app.settings import Settings
from farebox.audit.audit_http import audit_endpoints
from farebox.audit.audit_log import AuditLog, AuditLogRetention
from farebox.automation.sealed_columns import DELEGATES, ENTRIES, ENVELOPES, SEALED_DOMAINS
from farebox.ingress.rate_limiter import ActionQuota, RateLimiter, change_limit
from farebox.kernel.clock import Clock
from farebox.vault.http import vault_endpoints
from farebox.vault.manage_secrets import Vault
from farebox.vault.master_key_check import VAULT_SECRETS, MasterKeyCheck
from farebox.vault.master_keys import MasterKeys
from farebox.vault.read_secret import SecretReader
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from farebox.web.endpoint import Endpoint

RESPONSES: Final = "gateway response"  # the domain of what is sealed with the same master keys


@dataclass(frozen=True, slots=True)
class AutomationSealers:
    """What seals the secrets of automation, each in a domain of its own."""

    delegates: ByteSealer
    entries: ByteSealer
    envelopes: ByteSealer


@dataclass(frozen=True, slots=True)
class VaultServices:
    """The constructed vault and audit log; nothing runs yet."""

    reader: SecretReader  # for requests to upstreams
    responses: ByteSealer | None  # for responses of upstreams; None without master keys
    automation: AutomationSealers | None  # None without master keys
    endpoints: Sequence[Endpoint] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, closed in reverse order after they end
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_vault(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    limiter: RateLimiter,
) -> VaultServices:
    """Build the vault and the audit log; the pools must be entered before its resources."""
    database = pools.accounts
    keys = settings.master_keys
    changes = ActionQuota(limiter, change_limit(settings.ingress.changes_per_minute))
    sealer = None if keys is None else Sealer(keys)
    vault = None if sealer is None else Vault(database, sealer, changes)
    check = MasterKeyCheck(pools.background, keys, clock, (VAULT_SECRETS, *SEALED_DOMAINS))
    kept = timedelta(days=settings.audit_days)
    retention = AuditLogRetention(pools.upkeep, clock, kept=kept)
    return VaultServices(
        reader=SecretReader(database, sealer),
        responses=None if keys is None else ByteSealer(Sealer(keys, domain=RESPONSES)),
        automation=None if keys is None else automation_sealers(keys),
        endpoints=[
            *vault_endpoints(vault),
            *audit_endpoints(AuditLog(database)),
        ],
        tasks=[
            Loop("master keys", check.run),
            restart_on_failure(Loop("audit log retention", retention.run), clock),
        ],
        resources=[check],
    )


def automation_sealers(keys: MasterKeys) -> AutomationSealers:
    """The sealers of automation under these keys."""
    return AutomationSealers(
        *(ByteSealer(Sealer(keys, domain=domain)) for domain in (DELEGATES, ENTRIES, ENVELOPES))
    )
