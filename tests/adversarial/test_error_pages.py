"""Probes for error, debug and framework pages."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.callers import OPERATOR_KEY, Wallet, bearer, replica, send_request
from support.console import PAGE, write_console
from support.promises import case

# what frameworks, servers and tools put somewhere, and what is left lying about
SOUGHT: Final = (
    *("/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.yaml", "/assets", "/assets/"),
    *("/swagger", "/swagger.json", "/swagger-ui.html", "/graphql", "/graphiql"),
    *("/debug", "/debug/pprof", "/debug/vars", "/_debug", "/__debug__/", "/console", "/admin"),
    *("/metrics", "/v1/metrics", "/health", "/healthz", "/status", "/server-status", "/info"),
    *("/actuator", "/actuator/env", "/trace", "/env", "/config", "/version", "/v1", "/v1/"),
    *("/.env", "/.git/config", "/.git/HEAD", "/.well-known/", "/wp-login.php", "/phpinfo.php"),
    *("/static/../pyproject.toml", "/../etc/passwd", "//etc/passwd", "/v1/errors/..", "/%00"),
    *("/v1/errors/", "/v1/debug", "/v1/users", "/v1/sessions", "/v1/admin", "/v1/internal"),
)
INSIDES: Final = (
    *("Traceback", 'File "', ".py", "site-packages", "/src/", "line ", "raise "),
    *("asyncpg", "postgres", "starlette", "uvicorn", "msgspec", "python", "farebox."),
    *("SELECT", "audit_trail", "api_keys", "relation", "column", "renamed"),
)
KEYS: Final = "/v1/api-keys"
AUDIT: Final = "/v1/audit"


@pytest.fixture
async def client(
    database: Database, postgres_url: Secret[str], tmp_path: Path
) -> AsyncIterator[AsgiClient]:
    console = {"FAREBOX_CONSOLE_DIR": str(write_console(tmp_path))}
    async with replica(postgres_url, {"FAREBOX_RATE_PER_ADDRESS": "0", **console}) as running:
        yield running


def tells_nothing(answer: Answer, code: str) -> None:
    """The answer is the uniform error of this code, and no word of how we are made is in it."""
    assert answer.headers["content-type"] == "application/json"
    assert not {"server", "x-powered-by", "x-debug", "via"} & answer.headers.keys()
    (error,) = answer.json().values()
    assert set(error) == {"code", "message", "requestId"}
    assert error["code"] == code
    assert re.fullmatch("[0-9a-f]{16}", error["requestId"])
    text = f"{dict(answer.headers)} {error['message']}".lower()
    assert [each for each in INSIDES if each.lower() in text] == []


@case("AU-043")
async def test_framework_debug_and_file_pages_are_404(client: AsgiClient) -> None:
    for path in SOUGHT:
        for headers in ({}, {"x-debug": "1", "accept": "text/html", **bearer(OPERATOR_KEY)}):
            answer = await client.request(
                "GET", f"{path}?debug=1&__debugger__=yes", headers=headers
            )
            assert answer.status == 404, path
            tells_nothing(answer, "not_found")
    for method in ("TRACE", "TRACK", "DEBUG", "CONNECT", "PROPFIND"):
        answer = await client.request(method, "/v1/errors")
        assert answer.status == 405
        tells_nothing(answer, "method_not_allowed")
        tells_nothing(await client.request(method, "/"), "method_not_allowed")


@case("AU-043")
async def test_console_is_the_only_page_and_names_no_framework_of_the_service(
    client: AsgiClient,
) -> None:
    for path in ("/", "/index.html"):
        answer = await client.request("GET", f"{path}?debug=1", headers={"x-debug": "1"})
        assert (answer.status, answer.body) == (200, PAGE)
        assert not {"server", "x-powered-by", "x-debug", "via"} & answer.headers.keys()


@case("AU-043")
async def test_internal_error_detail_is_in_the_log_only(
    log_text: Callable[[], str], client: AsgiClient, database: Database, wallet: Wallet
) -> None:
    requests = (("GET", AUDIT, None), ("POST", KEYS, {"name": "A name"}), ("DELETE", AUDIT, None))
    async with database.transaction() as db:
        await db.execute("ALTER TABLE audit_trail RENAME TO audit_kept")
        await db.execute(  # every statement that reads or writes it divides by zero
            "CREATE VIEW audit_trail AS SELECT * FROM audit_kept WHERE 1 / 0 = 0 WITH CHECK OPTION"
        )
    try:
        answers = [
            await send_request(
                client, method, f"{path}?debug=1", {**shown, "accept": "text/html"}, body
            )
            for method, path, body in requests
            for shown in (wallet.headers, bearer(OPERATOR_KEY))
        ]
    finally:
        async with database.transaction() as db:
            await db.execute("DROP VIEW audit_trail")
            await db.execute("ALTER TABLE audit_kept RENAME TO audit_trail")
    for answer in answers[:4]:
        assert answer.status == 500
        tells_nothing(answer, "internal_error")
        assert answer.json()["error"]["requestId"] in log_text()
    assert "DivisionByZero" in log_text()
    for answer in answers[4:]:
        tells_nothing(answer, "method_not_allowed")
    listed = await send_request(client, "GET", KEYS, wallet.headers)
    assert listed.json()["items"] == [], "half of what broke is not kept"
