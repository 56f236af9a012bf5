"""Requests generated from an API schema by PyPI schemathesis, and what is wrong with the answers.

Each response has a status and a code that the schema declares, and a body of its shape.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    CheckFunction,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok

from farebox.kernel.error_codes import ErrorCode
from farebox.mcp.rpc_error import RpcReason

LOGOUT: Final = "POST /v1/auth/logout"  # it ends the session of all that follow
TIMEOUT_S: Final = 20.0  # of one request
_EXAMPLES: Final = 6  # an operation, a way of asking and a mode
_TURNED_AWAY: Final = 2  # of those that are all answered alike, before anything is read
_NO_HTTP: Final = b"Invalid HTTP request received."
_BODY_CHECKS: Final[list[CheckFunction]] = [
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@dataclass(slots=True)
class Tally:
    """The requests that were sent, and what was wrong with their answers."""

    requests: int = 0
    operations: int = 0
    shortened: int = 0  # operations that were asked once only, as the time was used up
    undocumented_statuses: list[str] = field(default_factory=list)
    server_errors: list[str] = field(default_factory=list)
    schema_violations: list[str] = field(default_factory=list)
    refused_sessions: list[str] = field(default_factory=list)  # of what needs one

    @property
    def flaws(self) -> list[str]:
        """All that is wrong."""
        kinds = (self.undocumented_statuses, self.server_errors, self.schema_violations)
        return [flaw for kind in (*kinds, self.refused_sessions) for flaw in kind]

    def figures(self) -> dict[str, int]:
        """Return the counts of the last line."""
        return {
            "requests": self.requests,
            "operations": self.operations,
            "shortened": self.shortened,
            "undocumented_statuses": len(self.undocumented_statuses),
            "server_errors": len(self.server_errors),
            "schema_violations": len(self.schema_violations),
            "refused_sessions": len(self.refused_sessions),
        }


def read_operations(document: dict[str, Any], *, has_session: bool = False) -> list[Any]:
    """Read the operations of a schema, the one last that ends a session.

    To requests without a session credentials of all kinds are generated; one beside a session would
    be taken in its place.
    """
    own = {"generation": {"with-security-parameters": not has_session}}
    config = SchemathesisConfig.from_dict(own)
    found = list(schemathesis.openapi.from_dict(document, config=config).get_all_operations())
    read = [each.ok() for each in found if isinstance(each, Ok)]
    assert len(read) == len(found), found
    return sorted(read, key=lambda each: each.label == LOGOUT)


def ask_everything(
    url: str,
    document: dict[str, Any],
    headers: Mapping[str, str],
    mode: GenerationMode,
    *,
    within_s: float,
) -> Tally:
    """Ask for every operation of a schema; once the time is used up, for each of them once."""
    tally, ends_at = Tally(), time.monotonic() + within_s
    with requests.Session() as session:
        for operation in read_operations(document, has_session=bool(headers)):
            if not _can_be_asked(operation, mode):
                continue
            examples = _examples(operation, is_known=bool(headers))
            if time.monotonic() > ends_at:
                tally.shortened += examples > 1
                examples = 1
            cases = operation.as_strategy(generation_mode=mode)
            sent = tally.requests
            try:
                _asking(url, session, headers, cases, examples, tally)()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE, f"{operation.label} cannot be asked"
            tally.operations += tally.requests > sent
    return tally


def _asking(
    url: str,
    session: requests.Session,
    headers: Mapping[str, str],
    cases: SearchStrategy[Case[Any]],
    examples: int,
    tally: Tally,
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
        answer = case.call(
            base_url=url, session=session, timeout=TIMEOUT_S, headers=dict(headers) or None
        )
        tally.requests += 1
        if answer.content != _NO_HTTP:  # what the server says before the service is asked
            _judge(case, answer, tally, has_session=bool(headers))

    return ask


def _judge(case: Case[Any], answer: Any, tally: Tally, *, has_session: bool) -> None:
    operation = case.operation
    said = f"{operation.label}: {answer.status_code} {answer.content[:300]!r}"
    if answer.status_code >= 500:
        tally.server_errors.append(said)
    code = _code(answer.content) if answer.status_code >= 400 else None
    if has_session and code == ErrorCode.UNAUTHENTICATED and operation.label != LOGOUT:
        tally.refused_sessions.append(said)
    for fault in _violations(case, answer, [status_code_conformance]):
        tally.undocumented_statuses.append(f"{said}: {fault}")
    for fault in _violations(case, answer, _BODY_CHECKS):
        tally.schema_violations.append(f"{said}: {fault}")
    described = operation.definition.raw["responses"].get(str(answer.status_code), {})
    words = described.get("description", "")
    if code is not None and "`" in words and f"`{code}`" not in words:
        tally.schema_violations.append(f"{said}: {code} is not in {words!r}")


def _violations(case: Case[Any], answer: Any, checks: list[CheckFunction]) -> Iterator[str]:
    try:
        case.validate_response(answer, checks=checks)
    except AssertionError as flaw:
        yield str(flaw)
    except BaseExceptionGroup as flaws:
        yield str(flaws.exceptions)


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
