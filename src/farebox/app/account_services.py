"""The composition root of accounts: who the caller is, and the routes where that is arranged."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.routing import BaseRoute

from farebox.accounts.authenticate import Authenticator
from farebox.accounts.key_use import KeyUses
from farebox.accounts.keys_http import key_routes
from farebox.accounts.manage_keys import KeyManagement
from farebox.accounts.operator_key import OperatorKeys
from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.kernel.clock import Clock
from farebox.web.guard import Authenticates


@dataclass(frozen=True, slots=True)
class AccountServices:
    """Accounts as constructed, nothing of it running yet."""

    authenticates: Authenticates
    routes: Sequence[BaseRoute] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_accounts(settings: Settings, pools: Pools, clock: Clock) -> AccountServices:
    """Everything that tells who a caller is."""
    uses = KeyUses(pools.background, clock)
    operators = OperatorKeys(settings.operator_keys)
    origin = settings.sign_in.public_url
    authenticator = Authenticator(pools.callers, operators, uses, origin=origin)
    return AccountServices(
        authenticator,
        routes=key_routes(KeyManagement(pools.accounts), authenticator, clock),
        tasks=[restarted(Loop("key uses", uses.run), clock)],
        resources=[uses],
    )
