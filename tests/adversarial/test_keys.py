"""Attacks on keys, sessions and operator keys."""

import asyncio
import hashlib
import hmac
import math
import random
import string
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from farebox.accounts.authenticate import Authenticator
from farebox.accounts.credential import OperatorKeys
from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import Unauthenticated
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import (
    OPERATOR,
    OPERATOR_DIGEST,
    OPERATOR_KEY,
    Wallet,
    bearer,
    create_key,
    replica,
    send_request,
    sign_in_wallet,
)
from support.promises import case, promise

KEYS: Final = "/v1/api-keys"
_PAIRS: Final = 4_000  # of rules alone
_STORED_PAIRS: Final = 1_000  # through the database; with the others 10,000 samples
_CONTROL_PAIRS: Final = 200
_DEVIATIONS: Final = 6  # of a fair coin thrown so often, each side


async def refused(client: AsgiClient, headers: Mapping[str, str], path: str = KEYS) -> None:
    """The request is answered as if it showed nothing."""
    answer = await send_request(client, "GET", path, headers)
    error = answer.json()["error"]
    assert (answer.status, error["code"]) == (401, "unauthenticated"), headers
    assert error["message"] == "Show a session or a key: Authorization: Bearer …"


@case("AU-019")
async def test_session_token_variants_are_refused(client: AsgiClient, wallet: Wallet) -> None:
    token = wallet.token
    assert (await send_request(client, "GET", KEYS, wallet.headers)).status == 200
    near = [
        token[:-1],
        token + "A",
        token + "\x00",
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token.swapcase(),
        token.upper(),
        token[9:],
        "fbx_live_" + token[9:],
        token[:-1] + "é",
        token.replace("s", "ſ"),
        "fbx_sess_" + "0" * 32,
        "fbx_sess_" + "%" * 32,
        hashlib.sha256(token.encode()).hexdigest(),
    ]
    for each in near:
        await refused(client, {"authorization": f"Bearer {each}"})
        await refused(client, {"x-api-key": each})
        if each.isascii():
            await refused(client, {"cookie": f"__Host-fbx_sess={each}"})
    for name in ("token", "access_token", "session", "__Host-fbx_sess"):
        await refused(client, {}, f"{KEYS}?{name}={token}")


@case("AU-022")
async def test_key_is_shown_in_two_responses_only(
    postgres_url: Secret[str], database: Database, log_text: Callable[[], str]
) -> None:
    wallet = await sign_in_wallet(database)
    async with replica(postgres_url) as client:
        made = await create_key(client, wallet.headers)
        path = f"{KEYS}/{made['id']}"
        rotated = await send_request(client, "POST", f"{path}/rotate", bearer(made["key"]))
        keys = [made["key"], rotated.json()["key"]]
        answers = [
            await send_request(client, "GET", KEYS, wallet.headers),
            await send_request(client, "GET", f"{KEYS}?key={keys[1]}", bearer(keys[1])),
            await send_request(client, "POST", f"{path}/rotate", wallet.headers),
            await send_request(client, "POST", KEYS, wallet.headers, {"name": 1, "key": keys[1]}),
            await send_request(client, "DELETE", path, wallet.headers),
            await client.get(f"/nowhere/{keys[1]}"),
        ]
    kept = await _everything(database)
    for key in keys:
        assert [each for each in answers if key.encode() in each.body] == []
        assert key not in kept
        assert key[14:] not in kept
        assert key[14:] not in log_text()


async def _everything(database: Database) -> str:
    """Every row of every table as text."""
    texts = []
    async with database.connection() as db:
        tables = await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (name,) in tables:
            rows = await db.fetch(f"SELECT t::text AS row FROM {name} t")
            texts += [row["row"] for row in rows]
    return "\n".join(texts)


@case("AU-023")
def test_key_prefix_reveals_type_only() -> None:
    keys = [new_token(TokenType.KEY) for _ in range(2_000)]
    bodies = [each.value.reveal().removeprefix("fbx_live_") for each in keys]
    assert {len(body) for body in bodies} == {32}
    assert len({body[4:] for body in bodies}) == len(keys)
    alphabet = string.digits + string.ascii_letters
    for place in range(32):
        seen = {body[place] for body in bodies}
        assert seen <= set(alphabet)
        assert len(seen) > 55, "of 62; a place that is not random would show"
    assert 28 * 5.95 > 160  # bits that the prefix, which is shown, leaves unknown
    assert {each.prefix for each in keys} == {"fbx_live_" + body[:4] for body in bodies}


class _Uses:
    def record(self, key_id: str) -> None:
        del key_id


Try = Callable[[str], Awaitable[None]]


@case("AU-026")
async def test_refusal_time_does_not_depend_on_key_prefix(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    authenticator = Authenticator(database, OperatorKeys([]), _Uses(), origin=None)

    async def ours(key: str) -> None:
        with pytest.raises(Unauthenticated):
            await authenticator.caller("GET", [(b"x-api-key", key.encode())])

    async def leaky(key: str) -> None:
        """A usual way to do it: find by the prefix, then compare."""
        async with database.connection() as db:
            row = await db.fetchrow("SELECT 1 FROM api_keys WHERE prefix = $1", key[:13])
            if row is not None:
                await db.fetchval("SELECT pg_sleep(0.0003)")

    operators = OperatorKeys([OPERATOR_DIGEST])

    async def operators_own(key: str) -> None:
        assert operators.owner_of(hashlib.sha256(key.encode()).digest()) is None

    key = made["key"]
    assert await _bias(operators_own, OPERATOR_KEY, _PAIRS) < _DEVIATIONS
    assert await _bias(ours, key, _STORED_PAIRS) < _DEVIATIONS
    assert await _bias(leaky, key, _CONTROL_PAIRS) > _DEVIATIONS


async def _bias(attempt: Try, key: str, pairs: int) -> float:
    """How far from even it is which of two takes longer: the right beginning or a wrong one.

    In deviations of a fair coin.
    """
    dice = random.Random(26)
    slower = 0.0
    for _ in range(pairs):
        wrong = new_token(TokenType.KEY).value.reveal().ljust(len(key), "0")
        right = key[:13] + wrong[13:]
        took = {}
        for each in dice.sample((right, wrong), 2):
            began = time.perf_counter_ns()
            await attempt(each)
            took[each] = time.perf_counter_ns() - began
        slower += 0.5 if took[right] == took[wrong] else took[right] > took[wrong]
    return abs(slower / pairs - 0.5) / (0.5 / math.sqrt(pairs))


@case("AU-026", "AU-028")
@promise("operator-key:compared-as-digest")
def test_every_operator_key_digest_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def seen(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr("hmac.compare_digest", seen)
    digests = [hashlib.sha256(bytes([n])).digest() for n in range(4)]
    keys = OperatorKeys(digests)
    for shown in (digests[0], digests[3], hashlib.sha256(b"wrong").digest()):
        compared.clear()
        assert (keys.owner_of(shown) is None) is (shown not in digests)
        assert compared == [(digest, shown) for digest in digests]


@case("AU-028")
async def test_unset_operator_key_matches_nothing(
    postgres_url: Secret[str],
) -> None:
    assert OperatorKeys([]).owner_of(hashlib.sha256(b"").digest()) is None
    empty = hashlib.sha256(b"").digest()
    assert OperatorKeys([empty]).owner_of(empty) is None
    for setting in ("", " "):
        async with replica(postgres_url, {"FAREBOX_OPERATOR_KEYS": setting}) as client:
            for key in ("", " ", "None", "null", OPERATOR_KEY, OPERATOR_DIGEST.hex()):
                await refused(client, {"authorization": f"Bearer {key}"})
                await refused(client, {"x-api-key": key})


@case("AU-028")
async def test_operator_digest_is_no_credential_and_key_is_not_stored(
    client: AsgiClient, database: Database
) -> None:
    for shown in (OPERATOR_DIGEST.hex(), f"sha256:{OPERATOR_DIGEST.hex()}", OPERATOR_KEY[:-1]):
        await refused(client, bearer(shown))
    await create_key(client, bearer(OPERATOR_KEY))
    kept = await _everything(database)
    assert OPERATOR in kept
    assert OPERATOR_KEY not in kept
    assert OPERATOR_DIGEST.hex() not in kept


@case("AU-029")
async def test_operator_acts_as_its_own_owner_on_user_routes(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    users = await create_key(client, wallet.headers)
    operators = await create_key(client, bearer(OPERATOR_KEY))
    for headers, seen in (
        (bearer(OPERATOR_KEY), operators),
        (bearer(OPERATOR_KEY) | {"cookie": f"__Host-fbx_sess={wallet.token}"}, operators),
        (wallet.headers, users),
    ):
        answer = await send_request(client, "GET", KEYS, headers)
        assert [key["id"] for key in answer.json()["items"]] == [seen["id"]]
    await refused(client, {"cookie": f"__Host-fbx_sess={OPERATOR_KEY}"})
    async with database.connection() as db:
        assert await db.fetchval("SELECT owner FROM api_keys WHERE id = $1", operators["id"]) == (
            OPERATOR
        )


@case("AU-036")
async def test_session_and_key_share_a_user_and_wallets_share_nothing(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    elsewhere = await sign_in_wallet(
        database, address=wallet.caller.address, network=Network.PUBNET
    )
    wallets = [wallet, elsewhere, await sign_in_wallet(database)]
    keys = [await create_key(client, each.headers, name="robot") for each in wallets]
    rotated = [
        (
            await send_request(client, "POST", f"{KEYS}/{key['id']}/rotate", bearer(key["key"]))
        ).json()
        for key in keys
    ]
    for each, key, new in zip(wallets, keys, rotated, strict=True):
        answer = await send_request(client, "GET", KEYS, each.headers)
        assert [found["id"] for found in answer.json()["items"]] == [new["id"], key["id"]]
    async with database.connection() as db:
        owners = await db.fetch("SELECT DISTINCT owner FROM api_keys")
    assert {row["owner"] for row in owners} == {each.owner for each in wallets}
    assert len(owners) == 3


@case("AU-048")
async def test_key_changes_are_in_audit_log_without_secrets(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers, name="name of the key")
    path = f"{KEYS}/{made['id']}"
    answers = [
        await send_request(client, "POST", f"{path}/rotate", bearer(made["key"])),
        await send_request(
            client, "POST", f"{path}/rotate", wallet.headers
        ),  # refused: leaves no trace
        await send_request(
            client, "DELETE", f"{path}", wallet.headers
        ),  # done already: none either
    ]
    new = answers[0].json()
    answers.append(
        await send_request(client, "DELETE", f"{KEYS}/{new['id']}", bearer(OPERATOR_KEY))
    )
    answers.append(await send_request(client, "DELETE", f"{KEYS}/{new['id']}", wallet.headers))
    assert [answer.status for answer in answers] == [201, 409, 200, 404, 200]
    async with database.connection() as db:
        rows = await db.fetch("SELECT * FROM audit_trail ORDER BY done_at")
    events = [(row["owner"], row["actor"], row["action"], row["subject"]) for row in rows]
    assert events == [
        (wallet.owner, "session", "key.created", made["id"]),
        (wallet.owner, "key", "key.rotated", made["id"]),
        (wallet.owner, "key", "key.created", new["id"]),
        (wallet.owner, "session", "key.revoked", new["id"]),
    ]
    text = "\n".join(str(dict(row)) for row in rows)
    for secret in (made["key"], new["key"], wallet.token):
        assert secret[13:] not in text
    assert "name of the key" not in text


@case("AU-027")
async def test_malformed_credentials_are_refused_by_service_and_rule_alike(
    client: AsgiClient, wallet: Wallet
) -> None:
    made = await create_key(client, wallet.headers)
    key = made["key"]
    odd: list[dict[str, str]] = [
        {"authorization": f"Basic {key}"},
        {"authorization": f"Bearer  {key}"},
        {"authorization": "bearer"},
        {"authorization": "Bearer bearer"},
        {"authorization": f"Bearer {key}", "x-api-key": wallet.token},
        {"authorization": f"Bearer {key[:-1]}"},
        {"authorization": "Bearer " + "k" * 60_000},
        {"cookie": f"__Host-fbx_sess={key}"},
        {"cookie": f"api_key={key}"},
    ]
    for headers in odd:
        await refused(client, headers)
    for scheme in ("bearer", "BEARER"):
        answer = await send_request(
            client, "GET", KEYS, {"authorization": f"{scheme} {wallet.token}"}
        )
        assert answer.status == 200


async def test_concurrent_rotations_and_revocations_leave_at_most_one_key(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    path = f"{KEYS}/{made['id']}"

    async def send(verb: str) -> tuple[int, dict[str, Any]]:
        answer = await send_request(client, "POST", f"{path}/{verb}", wallet.headers)
        return answer.status, answer.json()

    verbs = ["rotate"] * 8 + ["revoke"] * 2
    random.Random(24).shuffle(verbs)
    answers = await asyncio.gather(*map(send, verbs))
    new = [body["key"] for status, body in answers if status == 201]
    assert len(new) <= 1
    shown = [await send_request(client, "GET", KEYS, bearer(key)) for key in [made["key"], *new]]
    assert sum(answer.status == 403 for answer in shown) <= 1
    assert {status for status, _ in answers} <= {200, 201, 409}
