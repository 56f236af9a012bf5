"""The composition root of the vault and the audit trail: constructors only, top to bottom."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta

from starlette.routing import BaseRoute

from farebox.app.assembly import Loop
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.audit.audit_http import audit_routes
from farebox.audit.forget import Forgetting
from farebox.audit.read_trail import Trail
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database
from farebox.vault.http import vault_routes
from farebox.vault.keep_secrets import Vault
from farebox.vault.key_check import KeyCheck
from farebox.vault.open_secret import Opening
from farebox.vault.sealing import Sealer
from farebox.web.guard import Authenticates


@dataclass(frozen=True, slots=True)
class VaultServices:
    """The vault and the trail as constructed, nothing of it running yet."""

    opening: Opening  # for what calls upstream
    routes: Sequence[BaseRoute] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_vault(
    settings: Settings, database: Database, clock: Clock, authenticates: Authenticates
) -> VaultServices:
    """Everything that keeps secrets, and the trail of what was done to them.

    `database` is open before the vault's own resources are entered.
    """
    keys = settings.master_keys
    sealer = None if keys is None else Sealer(keys)
    vault = None if sealer is None else Vault(database, sealer)
    check = KeyCheck(database, keys, clock)
    kept = timedelta(days=settings.audit_days)
    forgetting = Forgetting(database, clock, kept=kept)
    return VaultServices(
        opening=Opening(database, sealer),
        routes=[
            *vault_routes(vault, authenticates),
            *audit_routes(Trail(database), authenticates),
        ],
        tasks=[
            Loop("master keys", check.run),
            restarted(Loop("audit trail", forgetting.run), clock),
        ],
        resources=[check],
    )
