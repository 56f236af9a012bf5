"""Requests generated from the API schemas of a service with every feature on.

Each response has a status and a code that the schema declares, and a body of its shape. Both
schemas are held: that of the service, and that of the paid operations of its gateway.
"""

import asyncio
import copy
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    CheckFunction,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.mcp.rpc_error import RpcReason
from farebox.stellar.asset_contract import usdc_contract
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import OPERATOR_SETTING, sign_in_wallet
from support.command import run_farebox
from support.paid_gateway import PaidGateway, gateway_path, shared_gateway
from support.plan_service import is_paid_for
from support.planted_secrets import plant_secret
from support.serving import serving
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks
from support.waiting import until
from support.web_auth import web_auth

pytestmark = pytest.mark.filterwarnings("ignore")  # the generator's own, about what it leaves out
API: Final = "/v1/openapi.json"
PAID: Final = "/openapi.json"
_EXAMPLES: Final = 6  # an operation, a way of asking and a mode
_TURNED_AWAY: Final = 2  # of those that are all answered alike, before anything is read
_TIMEOUT_S: Final = 20
_NO_HTTP: Final = b"Invalid HTTP request received."
_LOGOUT: Final = "POST /v1/auth/logout"  # it ends the session of all that follow
_CHECKS: Final[list[CheckFunction]] = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
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
    """A service behind a socket, its schemas and a signed-in wallet."""

    url: str
    documents: Mapping[str, dict[str, Any]]
    session: Mapping[str, str]


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
            yield Served(url, documents, (await sign_in_wallet(database)).headers)


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
    words = ("channels", "create", "--for", "automation", "--count", "2", "--network", "testnet")
    made = await asyncio.to_thread(run_farebox, *words, settings=shop.stage.environment)
    assert made.code == 0, made.err
    await until(lambda: is_paid_for(shop.client), within_s=60)


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
    return msgspec.json.decode(requests.get(url, timeout=_TIMEOUT_S).content, type=dict[str, Any])


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("who", ["no credential", "a wallet"])
@pytest.mark.parametrize("at", [API, PAID])
async def test_every_response_matches_the_schema(
    served: Served, at: str, who: str, mode: GenerationMode
) -> None:
    headers = served.session if who == "a wallet" else {}
    document = served.documents[at]
    flaws = await asyncio.to_thread(lambda: list(_flaws(served.url, document, headers, mode)))
    assert flaws == []


async def test_session_lasts_until_the_last_operation(served: Served) -> None:
    """Otherwise most operations would have been asked without a credential."""
    named = [each.label for each in _operations(served.documents[API])]
    assert named[-1] == _LOGOUT
    assert len(named) == len(set(named)) >= 60


async def test_control_wrong_schema_is_detected(served: Served) -> None:
    document = copy.deepcopy(served.documents[API])
    document["paths"] = {"/supported": document["paths"]["/supported"]}
    document["components"]["schemas"]["SupportedBody"]["required"].append("kindness")
    mode = GenerationMode.POSITIVE
    flaws = await asyncio.to_thread(lambda: list(_flaws(served.url, document, {}, mode)))
    assert [flaw.split(":")[0] for flaw in flaws] == ["GET /supported"]


def _operations(document: dict[str, Any]) -> list[Any]:
    """The operations of a schema, the one last that ends a session."""
    found = list(schemathesis.openapi.from_dict(document).get_all_operations())
    read = [each.ok() for each in found if isinstance(each, Ok)]
    assert len(read) == len(found), found
    return sorted(read, key=lambda each: each.label == _LOGOUT)


def _flaws(
    url: str, document: dict[str, Any], headers: Mapping[str, str], mode: GenerationMode
) -> Iterator[str]:
    """What is wrong, a line an operation; nothing when all is well."""
    session = requests.Session()
    session.headers.update(headers)
    for operation in _operations(document):
        examples = _examples(operation, is_known=bool(headers))
        if not examples or not _can_be_asked(operation, mode):
            continue
        cases = operation.as_strategy(generation_mode=mode)
        ask = _asking(url, session, cases, examples)
        try:
            ask()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE, f"{operation.label} cannot be asked"
        except AssertionError as flaw:
            yield f"{operation.label}: {flaw}"
        except BaseExceptionGroup as flaws:
            yield f"{operation.label}: {flaws.exceptions}"


def _asking(
    url: str, session: requests.Session, cases: SearchStrategy[Case[Any]], examples: int
) -> Callable[[], None]:
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Case[Any]) -> None:
        answer = case.call(base_url=url, session=session, timeout=_TIMEOUT_S)
        assert answer.status_code < 500, f"{answer.status_code} {answer.content[:300]!r}"
        if answer.content != _NO_HTTP:  # what the server says before the service is asked
            case.validate_response(answer, checks=_CHECKS)
            _check_code(case.operation.definition.raw["responses"], answer)

    return ask


def _check_code(responses: dict[str, Any], answer: Any) -> None:
    """An error has one of the codes that the description of its status names, if it names any."""
    code = _code(answer.content) if answer.status_code >= 400 else None
    described = responses.get(str(answer.status_code), {}).get("description", "")
    is_named = code is None or "`" not in described or f"`{code}`" in described
    assert is_named, f"{code} is not in {described!r}"


def _examples(operation: Any, *, is_known: bool) -> int:
    """How many requests: who one is matters where the schema asks for it, and little elsewhere."""
    security = operation.definition.raw.get("security") or [{}]
    needs_none, takes_some = {} in security, security != [{}]
    if is_known:
        return _EXAMPLES if takes_some else _TURNED_AWAY
    return _EXAMPLES if needs_none else _TURNED_AWAY


def _can_be_asked(operation: Any, mode: GenerationMode) -> bool:
    """Wrong requests are made of what an operation takes: some take nothing."""
    takes = list(operation.iter_parameters()) or operation.body
    return mode is GenerationMode.POSITIVE or bool(takes)


def _code(body: bytes) -> str | None:
    """The code of an error body; None for another body, and for a message that `/mcp` refuses."""
    error = msgspec.json.decode(body, type=dict[str, Any]).get("error", {})
    if not isinstance(error, dict):
        return None
    reason = error.get("data", {}).get("reason")
    return error.get("code") if reason is None else None if reason in [*RpcReason] else reason
