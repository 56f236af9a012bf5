"""The composition root of accounts: authentication and API keys."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.accounts.authenticate import Authenticator
from farebox.accounts.credential import OperatorKeys
from farebox.accounts.key_usage import KeyUsage
from farebox.accounts.keys_http import key_endpoints
from farebox.accounts.manage_keys import KeyManagement
from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.lifespan import restart_on_failure
from farebox.app.settings import Settings
from farebox.ingress.rate_limiter import ActionQuota, RateLimiter, change_limit
from farebox.kernel.clock import Clock
from farebox.web.endpoint import Endpoint
from farebox.web.guard import Authentication


@dataclass(frozen=True, slots=True)
class AccountServices:
    """The constructed accounts; nothing runs yet."""

    authentication: Authentication
    endpoints: Sequence[Endpoint] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, closed in reverse order after they end
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_accounts(
    settings: Settings, pools: Pools, clock: Clock, limiter: RateLimiter
) -> AccountServices:
    """Build the authentication of callers and the routes of API keys."""
    changes = ActionQuota(limiter, change_limit(settings.ingress.changes_per_minute))
    usage = KeyUsage(pools.background, clock)
    operators = OperatorKeys(settings.operator_keys)
    origin = settings.sign_in.public_url
    authenticator = Authenticator(pools.callers, operators, usage, origin=origin)
    return AccountServices(
        authenticator,
        endpoints=key_endpoints(KeyManagement(pools.accounts, changes), clock),
        tasks=[restart_on_failure(Loop("key uses", usage.run), clock)],
        resources=[usage],
    )
