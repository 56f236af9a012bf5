"""Requests generated from the API schemas of a service with every feature on.

Each response has a status and a code that the schema declares, and a body of its shape. Both
schemas are held: that of the service, and that of the paid operations of its gateway.
"""

import asyncio
import copy
import dataclasses
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import requests
from schemathesis import GenerationMode

from e2e.generated_requests import LOGOUT, TIMEOUT_S, ask_everything, read_operations
from e2e.schema import REPORT
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.asset_contract import usdc_contract
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import OPERATOR_SETTING, sign_in_wallet
from support.paid_gateway import PaidGateway, gateway_path, shared_gateway
from support.plan_stage import create_channels, until_paid_for
from support.planted_secrets import plant_secret
from support.serving import serving
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks
from support.web_auth import web_auth
from testing.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore")  # the generator's own, about what it leaves out
API: Final = "/v1/openapi.json"
PAID: Final = "/openapi.json"
# The bound of the run: half a minute. The operations that are left then are asked once.
_WITHIN_S: Final = {API: 6.0, PAID: 1.0}  # for each of four ways of asking
_ANY_TEXT: Final = {"type": "string", "minLength": 1}
_PRICES: Final[dict[str, Any]] = {
    "description": "Weather of each city.",
    "routes": [
        {"method": "GET", "path": "/city/:name", "amount": "20000"},
        {
            "method": "POST",
            "path": "/alerts",
            "amount": "30000",
            "input": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    ],
}


@dataclasses.dataclass(frozen=True)
class Served:
    """A service behind a socket, its schemas and its database."""

    url: str
    documents: Mapping[str, dict[str, Any]]
    database: Database


@pytest.fixture(scope="module")
async def served(
    stage_client: AsgiClient,
    stage_networks: Networks,
    stage_database: str,
    module_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Served]:
    networks = {Network.TESTNET: stage_networks[Network.TESTNET]}  # with every feature on it
    stage = Stage(stage_client, networks, environment_for(networks, stage_database))
    own = await _feature_settings(stage)
    folder = tmp_path_factory.mktemp("generated")
    async with shared_gateway(stage, module_database, folder, **own) as shop:
        await _fund_runs(shop)
        await _list_prices(shop)
        async with (
            serving(shop.client) as (host, port),
            Database(Secret(module_database)) as database,
        ):
            url = f"http://{host}:{port}"
            documents = {at: await asyncio.to_thread(_read, url + at) for at in (API, PAID)}
            yield Served(url, documents, database)


async def _feature_settings(stage: Stage) -> dict[str, str]:
    """Return what switches on the features that need an account or a contract of their own."""
    paymaster, contract = await stage.ledger().account(), await web_auth(stage.ledger())
    plant_secret(paymaster.secret)
    return {
        **OPERATOR_SETTING,
        "FAREBOX_PAYMASTER_SECRET_TESTNET": paymaster.secret,
        "FAREBOX_WEB_AUTH_CONTRACT_TESTNET": contract.contract,
    }


async def _fund_runs(shop: PaidGateway) -> None:
    """Make the channels of automation, and wait until plans can be proposed."""
    await create_channels(shop.stage.environment, 2)
    await until_paid_for(shop.client, within_s=60)


async def _list_prices(shop: PaidGateway) -> None:
    """List prices in USDC, a token that no devnet has."""
    wrapper = await shop.create(**_PRICES)
    await shop.stage.query(
        "UPDATE wrappers SET is_enabled = true, updated_at = clock_timestamp(),"
        " settings = jsonb_set(settings, '{terms,0,asset}', to_jsonb($2::text)) WHERE id = $1",
        wrapper["id"],
        usdc_contract(Network.TESTNET),
    )

    async def is_listed() -> bool:
        document = (await shop.client.get(PAID)).json()
        return gateway_path(wrapper) in str(document["paths"])

    await until(is_listed)


def _read(url: str) -> dict[str, Any]:
    return msgspec.json.decode(requests.get(url, timeout=TIMEOUT_S).content, type=dict[str, Any])


@pytest.fixture(scope="module")
def figures() -> Iterator[Counter[str]]:
    """The figures of all runs, which are written to the file that the environment names."""
    counted: Counter[str] = Counter()
    yield counted
    if report := os.environ.get(REPORT):
        Path(report).write_text(json.dumps(counted) + "\n")


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("who", ["no credential", "a wallet"])
@pytest.mark.parametrize("at", [API, PAID])
async def test_every_response_matches_the_schema(
    served: Served, figures: Counter[str], at: str, who: str, mode: GenerationMode
) -> None:
    headers: Mapping[str, str] = {}
    if who == "a wallet":  # one of its own: each run ends the session of its wallet
        headers = (await sign_in_wallet(served.database)).headers
    document = served.documents[at]
    if mode is GenerationMode.NEGATIVE:
        document = _without_any_text(document, has_session=bool(headers))
    tally = await asyncio.to_thread(
        ask_everything, served.url, document, headers, mode, within_s=_WITHIN_S[at]
    )
    figures.update(tally.figures())
    assert tally.flaws == []
    assert tally.requests >= tally.operations > 0


async def test_session_lasts_until_the_last_operation(served: Served) -> None:
    """Otherwise most operations would have been asked without a credential."""
    named = [each.label for each in read_operations(served.documents[API])]
    assert named[-1] == LOGOUT
    assert len(named) == len(set(named)) >= 60


async def test_operations_are_asked_once_when_the_time_is_used_up(served: Served) -> None:
    document = _only(served.documents[API], "/supported", "/discovery/search")
    mode = GenerationMode.POSITIVE
    tally = await asyncio.to_thread(ask_everything, served.url, document, {}, mode, within_s=-1.0)
    assert (tally.requests, tally.operations, tally.shortened) == (2, 2, 2)


async def test_control_wrong_schema_is_detected(served: Served) -> None:
    document = _only(served.documents[API], "/supported", "/v1/errors")
    document["components"]["schemas"]["SupportedBody"]["required"].append("kindness")
    del document["paths"]["/v1/errors"]["get"]["responses"]["200"]
    mode = GenerationMode.POSITIVE
    tally = await asyncio.to_thread(ask_everything, served.url, document, {}, mode, within_s=20.0)
    assert _labels(tally.schema_violations) == {"GET /supported"}
    assert _labels(tally.undocumented_statuses) == {"GET /v1/errors"}
    assert tally.server_errors == []


async def test_control_session_that_has_ended_is_detected(served: Served) -> None:
    document = _only(served.documents[API], "/v1/payments")
    headers = {"authorization": "Bearer fbx_sess_ended"}
    mode = GenerationMode.POSITIVE
    tally = await asyncio.to_thread(
        ask_everything, served.url, document, headers, mode, within_s=20.0
    )
    assert _labels(tally.refused_sessions) == {"GET /v1/payments"}


def test_operation_is_left_out_where_no_request_is_wrong() -> None:
    any_text = {"in": "path", "name": "id", "schema": _ANY_TEXT}
    number = any_text | {"schema": {"type": "integer"}}
    signed_in: dict[str, Any] = {"security": [{"bearer": []}]}
    operations: dict[str, Any] = {
        "any": {"parameters": [any_text]},
        "known": {"parameters": [any_text], "security": [{}, {"bearer": []}]},
        "session": {"parameters": [any_text]} | signed_in,
        "number": {"parameters": [any_text, number]},
        "body": {"parameters": [any_text], "requestBody": {}} | signed_in,
        "query": {"parameters": [any_text | {"in": "query"}]},
        "nothing": {},
    }
    document = {"paths": {name: {"get": each} for name, each in operations.items()}}
    alone, beside = (_without_any_text(document, has_session=each) for each in (False, True))
    assert list(alone["paths"]) == ["session", "number", "body", "query", "nothing"]
    assert list(beside["paths"]) == ["number", "body", "query", "nothing"]


def _without_any_text(document: dict[str, Any], *, has_session: bool) -> dict[str, Any]:
    """Copy a schema without operations that take any text in their path, and nothing else.

    No request to them is wrong, and the generator looks for one for seconds. Without a session a
    credential may be wrong.
    """

    def can_be_wrong(operation: Mapping[str, Any]) -> bool:
        parameters = operation.get("parameters", [])
        takes_any = bool(parameters) and "requestBody" not in operation
        takes_any &= all(
            each["in"] == "path" and each["schema"] == _ANY_TEXT for each in parameters
        )
        needs_one = {} not in operation.get("security", [{}])
        return not takes_any or (needs_one and not has_session)

    paths = {
        path: {method: each for method, each in methods.items() if can_be_wrong(each)}
        for path, methods in document["paths"].items()
    }
    return {**document, "paths": {path: methods for path, methods in paths.items() if methods}}


def _only(document: dict[str, Any], *paths: str) -> dict[str, Any]:
    """Copy a schema with these paths alone."""
    copied = copy.deepcopy(document)
    copied["paths"] = {path: copied["paths"][path] for path in paths}
    return copied


def _labels(flaws: list[str]) -> set[str]:
    return {flaw.partition(":")[0] for flaw in flaws}
