"""Credentials over their limit are refused without a lookup."""

from dataclasses import replace
from typing import Final

import pytest
from starlette.types import Receive, Scope, Send

from farebox.ingress.http import CredentialLimit, Rates, RequestCount
from farebox.ingress.rate_limiter import RateLimiter
from farebox.kernel.caller import Caller, CallerKind, OwnerId, Unauthenticated
from farebox.kernel.errors import TooManyRequests
from farebox.storage.pool import Database
from farebox.web.endpoint import Rate, RateClass
from farebox.web.guard import KEY
from support.manual_clock import ManualClock

RATES: Final = Rates(dict.fromkeys(RateClass, 3), dict.fromkeys(RateClass, 5))
OWNER: Final = OwnerId("user_1")
FREE: Final = Caller(OWNER, CallerKind.SESSION)
KNOWN: Final = replace(FREE, is_established=True)
PATHS: Final = {
    "/v1/usage": Rate(RateClass.MANAGEMENT),
    "/verify": Rate(RateClass.VERIFY),
    "/supported": None,
}
A, B = "192.0.2.1", "192.0.2.2"


class Service:
    """The service behind the limit; `holders` has the caller of each valid token."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.limiter = RateLimiter(database, clock)
        self.holders: dict[str, Caller] = {}
        self.lookups = 0
        self._app = CredentialLimit(self._answer, self.limiter, RATES, lambda _, path: PATHS[path])

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.lookups += 1
        token = scope["headers"][0][1].decode().removeprefix("Bearer ")
        if token not in self.holders:
            raise Unauthenticated
        scope[KEY] = self.holders[token]
        rate = PATHS[scope["path"]]
        if rate is not None:
            await RequestCount(self.limiter, RATES, rate)(scope)

    async def ask(self, token: str, *, client: str = A, path: str = "/v1/usage") -> int:
        """The status."""

        async def receive() -> dict[str, object]:
            raise AssertionError

        scope: Scope = {
            "method": "GET",
            "path": path,
            "headers": [(b"authorization", f"Bearer {token}".encode())],
            "client": (client, 1),
        }
        try:
            await self._app(scope, receive, receive)  # type: ignore[arg-type]  # neither is called
        except TooManyRequests:
            return 429
        except Unauthenticated:
            return 401
        return 200


@pytest.fixture
def service(database: Database, clock: ManualClock) -> Service:
    return Service(database, clock)


async def test_credential_over_its_limit_is_refused_without_a_lookup(
    service: Service, clock: ManualClock
) -> None:
    service.holders["known"] = KNOWN
    assert [await service.ask("known") for _ in range(6)] == [200] * 5 + [429]
    assert service.lookups == 6
    assert [await service.ask("known", client=B) for _ in range(50)] == [429] * 50
    assert service.lookups == 6
    assert await service.ask("known", path="/verify") == 200, "another class"
    assert await service.ask("known", path="/supported") == 200, "no limit at all"
    clock.turn(60)
    assert await service.ask("known") == 200


async def test_credentials_of_free_accounts_share_the_limit_of_their_address(
    service: Service,
) -> None:
    tokens = [f"free {n}" for n in range(20)]
    service.holders = dict.fromkeys(tokens, FREE) | {"known": KNOWN}
    assert [await service.ask(each) for each in tokens].count(200) == 3
    looked_up = service.lookups
    assert [await service.ask(each) for each in tokens] == [429] * 20
    assert service.lookups == looked_up, "each was looked up once"
    assert await service.ask("known") == 200, "a key of an account on the ledger has its own"
    assert await service.ask(tokens[0], client=B) == 200


async def test_unknown_credentials_are_limited_and_known_ones_are_not(service: Service) -> None:
    service.holders = {"known": KNOWN, "fresh": KNOWN}
    assert await service.ask("known") == 200
    assert [await service.ask(f"guess {n}") for n in range(6)] == [401] * 3 + [429] * 3
    assert await service.ask("known") == 200
    assert await service.ask("fresh") == 429
    assert await service.ask("fresh", client=B) == 200


async def test_revoked_credential_counts_as_unknown(service: Service) -> None:
    service.holders["known"] = KNOWN
    assert await service.ask("known") == 200
    service.holders.clear()
    assert [await service.ask("known") for _ in range(5)] == [401] * 3 + [429] * 2
