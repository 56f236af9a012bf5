"""The log of the service: its lines, its file, and no secret in it."""

import base64
import json
import logging
import os
import stat
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
from starlette.types import Receive, Scope, Send
from stellar_sdk import Keypair

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.app.logging import LineFile, configure_logging, open_log
from farebox.app.setting_rules import LogLevel
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.web.request_body import read_body
from farebox.web.request_context import context_of
from support.asgi import AsgiClient
from support.recording_log import log_file
from support.routes import endpoint
from support.serving import exchange, serving

PLANTED = {
    "signature": base64.b64encode(json.dumps({"x402Version": 2, "pay": "load"}).encode()).decode(),
    "xdr": base64.b64encode(b"\0\0\0\2" + os.urandom(90)).decode(),
    "seed": Keypair.random().secret,
    "bearer": "fbx_live_" + os.urandom(12).hex(),
    "token": "opaque-token-" + os.urandom(6).hex(),
    "url": "https://rpc.test/v2/planted-key-" + os.urandom(6).hex(),
    "database": "postgresql://user:planted-password@db.test/farebox",
}


@pytest.fixture
def log_path(tmp_path: Path) -> Iterator[Path]:
    """A log file that everything is written to, until the test ends."""
    with log_file(tmp_path / "logs" / "farebox.log") as path:
        yield path


def _text(path: Path) -> str:
    return path.read_text()


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class _Careless:
    """A route that does everything a route must not do with what it was sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        log = structlog.get_logger()
        log.info("careless", headers=headers, body=body, **json.loads(body))
        log.warning("careless.text", said=f"refused {PLANTED['xdr']} of {PLANTED['seed']}")
        log.error("careless.object", held=SimpleNamespace(**PLANTED), secret=Secret("hidden-one"))
        logging.getLogger("some.library").warning("calling %s failed", PLANTED["url"])
        context_of(scope).add_log_fields(reason=PLANTED["bearer"])
        try:
            raise ValueError(f"cannot connect to {PLANTED['database']}")
        except ValueError as cause:
            raise Outage("database", PLANTED["url"]) from cause


class _Broken:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = {name: value for name, value in PLANTED.items() if name != "token"}
        # a token of an unknown form is recognized only by the word before it
        raise ValueError(" ".join([*values.values(), "Bearer", PLANTED["token"]]))


def _app() -> Application:
    endpoints = [
        endpoint("POST", "/careless", _Careless()),
        endpoint("POST", "/broken", _Broken()),
    ]
    return Application(Services(endpoints=endpoints), stop=lambda: None)


async def test_log_has_client_address_of_trusted_proxy_header(log_path: Path) -> None:
    """The test's own address is the proxy's; what stands further left is a stranger's word."""
    trusted = (ip_network("127.0.0.0/8"),)
    client = AsgiClient(Application(Services([], trusted_proxies=trusted), stop=lambda: None))
    for spoofed in ("203.0.113.1", "203.0.113.2"):
        headers = {"x-forwarded-for": f"{spoofed}, 198.51.100.77"}
        await client.request("GET", "/health/live", headers=headers)
    lines = [line for line in _lines(log_path) if line["event"] == "request"]
    assert [line["client"] for line in lines] == ["198.51.100.77"] * 2
    assert "203.0.113" not in _text(log_path)


def _request(path: str) -> bytes:
    body = json.dumps(PLANTED).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        "Connection: close",
        f"PAYMENT-SIGNATURE: {PLANTED['signature']}",
        f"Authorization: Bearer {PLANTED['token']}",
        f"X-API-Key: {PLANTED['bearer']}",
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    return "\r\n".join(head).encode() + body


async def test_log_holds_no_planted_secret(
    log_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = b""
    async with serving(_app()) as address:
        for path in ("/careless?token=" + PLANTED["token"], "/broken", f"/{PLANTED['seed']}"):
            answers += await exchange(address, _request(path))
    written = _text(log_path) + "".join(capfd.readouterr())
    assert len(_lines(log_path)) >= 8
    for name, value in PLANTED.items():
        assert value not in written, name
        assert value.encode() not in answers, name
    assert "planted" not in written
    assert "hidden-one" not in written


async def test_request_log_line_and_events_share_request_id(
    log_path: Path,
) -> None:
    async with serving(_app()) as address:
        answer = await exchange(address, _request("/broken?query=1"))
    lines = _lines(log_path)
    (request,) = [line for line in lines if line["event"] == "request"]
    (fault,) = [line for line in lines if line["event"] == "request.broken"]
    assert set(request) == {
        "event",
        "level",
        "at",
        "request_id",
        "method",
        "path",
        "status",
        "ms",
        "error",
        "client",
    }
    assert (request["path"], request["status"]) == ("/broken", 500)
    assert request["request_id"] == fault["request_id"]
    assert f"x-request-id: {request['request_id']}".encode() in answer
    assert "ValueError" in str(fault["exception"])
    assert str(request["at"]).endswith("Z")


async def test_log_truncates_unknown_path(log_path: Path) -> None:
    async with serving(_app()) as address:
        await exchange(address, _request("/" + "a%20b/" * 500))
    (request,) = [line for line in _lines(log_path) if line["event"] == "request"]
    assert len(str(request["path"])) <= 200


def test_log_file_is_readable_by_owner_only(log_path: Path) -> None:
    assert stat.S_IMODE(log_path.stat().st_mode) == 0o600


def test_log_level_hides_less_severe_events(tmp_path: Path, log_path: Path) -> None:
    descriptor = open_log(tmp_path / "quiet.log")
    configure_logging(LogLevel.WARNING, descriptor)
    structlog.get_logger().info("hidden")
    structlog.get_logger().warning("shown")
    os.close(descriptor)
    assert [line["event"] for line in _lines(tmp_path / "quiet.log")] == ["shown"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_full_disk_loses_log_lines_and_no_responses() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    line_file = LineFile(descriptor)
    line_file.msg(b"lost\n")
    os.close(descriptor)
    assert line_file.lost == 1
