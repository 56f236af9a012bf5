"""Requests generated from the API schema: each response is one that it declares."""

import asyncio
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

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.secret import Secret
from farebox.mcp.rpc_error import RpcReason
from farebox.storage.pool import Database
from support.callers import OPERATOR_SETTING, sign_in_wallet
from support.serving import serving
from support.stage import environment_for
from support.stage_fixtures import Networks
from support.vault import VAULT_SETTING

pytestmark = pytest.mark.filterwarnings("ignore")  # the generator's own, about what it leaves out
_EXAMPLES: Final = 8  # an operation, a way of asking and a mode
_TURNED_AWAY: Final = 2  # of those that are all answered alike, before anything is read
_TIMEOUT_S: Final = 20
# what a service may say of itself while all of it runs
_SWITCHED_OFF: Final = frozenset({"contract_login_unavailable"})
_NO_HTTP: Final = b"Invalid HTTP request received."
_CHECKS: Final[list[CheckFunction]] = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@dataclasses.dataclass(frozen=True)
class Served:
    """A service behind a socket, its schema and a signed-in wallet."""

    url: str
    document: dict[str, Any]
    session: Mapping[str, str]


@pytest.fixture(scope="module")
async def served(stage_networks: Networks, stage_database: str) -> AsyncIterator[Served]:
    environment = environment_for(
        stage_networks, stage_database, **OPERATOR_SETTING, **VAULT_SETTING
    )
    app = create_app(read_settings(environment))
    async with serving(app) as (host, port), Database(Secret(stage_database)) as database:
        url = f"http://{host}:{port}"
        text = await asyncio.to_thread(_read, url)
        wallet = await sign_in_wallet(database)
        yield Served(url, text, wallet.headers)


def _read(url: str) -> dict[str, Any]:
    return msgspec.json.decode(
        requests.get(f"{url}/v1/openapi.json", timeout=_TIMEOUT_S).content, type=dict[str, Any]
    )


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("who", ["no credential", "a wallet"])
async def test_every_response_matches_the_schema(
    served: Served, who: str, mode: GenerationMode
) -> None:
    headers = served.session if who == "a wallet" else {}
    flaws = await asyncio.to_thread(lambda: list(_flaws(served, headers, mode)))
    assert flaws == []


async def test_control_wrong_schema_is_detected(served: Served) -> None:
    document = msgspec.json.decode(msgspec.json.encode(served.document), type=dict[str, Any])
    document["paths"] = {"/supported": document["paths"]["/supported"]}
    document["components"]["schemas"]["SupportedBody"]["required"].append("kindness")
    wrong = dataclasses.replace(served, document=document)
    flaws = await asyncio.to_thread(lambda: list(_flaws(wrong, {}, GenerationMode.POSITIVE)))
    assert [flaw.split(":")[0] for flaw in flaws] == ["GET /supported"]


def _flaws(served: Served, headers: Mapping[str, str], mode: GenerationMode) -> Iterator[str]:
    """What is wrong, a line an operation; nothing when all is well."""
    schema = schemathesis.openapi.from_dict(served.document)
    session = requests.Session()
    session.headers.update(headers)
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        examples = _examples(operation, is_known=bool(headers))
        if not examples or not _can_be_asked(operation, mode):
            continue
        cases = operation.as_strategy(generation_mode=mode)
        ask = _asking(served.url, session, cases, examples)
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
        assert answer.status_code < 500 or _code(answer.content) in _SWITCHED_OFF, (
            f"{answer.status_code} {answer.content[:300]!r}"
        )
        if answer.content != _NO_HTTP:  # what the server says before the service is asked
            case.validate_response(answer, checks=_CHECKS)
            _check_code(case.operation.definition.raw["responses"], answer)

    return ask


def _check_code(responses: dict[str, Any], answer: Any) -> None:
    """An error has one of the codes that the description of its status names."""
    code = _code(answer.content) if answer.status_code >= 400 else None
    described = responses[str(answer.status_code)]["description"]
    assert code is None or f"`{code}`" in described, f"{code} is not in {described!r}"


def _examples(operation: Any, *, is_known: bool) -> int:
    """How many requests: who one is matters where the schema asks for it, and nowhere else."""
    security = operation.definition.raw.get("security")
    if is_known:
        return 0 if security is None else _EXAMPLES
    return _EXAMPLES if security is None or {} in security else _TURNED_AWAY


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
