"""The composition root of accounts: who the caller is, and the routes where that is arranged.

It has connections of its own, so that no sign-in can keep one from a settlement.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute

from farebox.accounts.authenticate import Authenticator
from farebox.accounts.key_use import KeyUses
from farebox.accounts.keys_http import key_routes
from farebox.accounts.manage_keys import KeyManagement
from farebox.accounts.operator_key import OperatorKeys
from farebox.app.assembly import Loop
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.guard import Authenticates

_ASKERS: Final = 4  # for one short statement a request, which no change may keep waiting
_MANAGERS: Final = 6
_WAIT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class AccountServices:
    """Accounts as constructed, nothing of it running yet."""

    authenticates: Authenticates
    database: Database  # for whatever else is arranged for a caller
    routes: Sequence[BaseRoute] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_accounts(settings: Settings, url: Secret[str], clock: Clock) -> AccountServices:
    """Everything that tells who a caller is."""
    asking = _database(url, "callers", _ASKERS)
    database = _database(url, "accounts", _MANAGERS)
    uses = KeyUses(database, clock)
    operators = OperatorKeys(settings.operator_keys)
    origin = settings.sign_in.public_url
    authenticator = Authenticator(asking, operators, uses, origin=origin)
    return AccountServices(
        authenticator,
        database,
        routes=key_routes(KeyManagement(database), authenticator, clock),
        tasks=[restarted(Loop("key uses", uses.run), clock)],
        resources=[asking, database, uses],
    )


def _database(url: Secret[str], purpose: str, connections: int) -> Database:
    return Database(
        url,
        connections=connections,
        wait_s=_WAIT_S,
        statement_s=_WAIT_S,
        name=f"farebox-{purpose}",
    )
