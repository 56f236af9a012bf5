"""The settings that `farebox serve` refuses before it listens, and its log without secrets."""

from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import Keypair

from support.command import run_farebox
from support.promises import promise
from support.stage import Stage

RELAYER: Final = Keypair.random().secret
NODE: Final = "http://127.0.0.1:9/planted-path"
GOOD: Final = {
    "FAREBOX_RPC_URL_TESTNET": NODE,
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
    "FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
    "FAREBOX_PORT": "0",
}


def serve(settings: dict[str, str]) -> tuple[int, str]:
    """Run `farebox serve` until it ends: its exit code, and everything it wrote."""
    ran = run_farebox("serve", settings=settings)
    return ran.code, ran.out + ran.err


@promise("error:bad-configuration-stops-the-start")
def test_start_names_every_setting_error_without_values() -> None:
    wrong = GOOD | {
        "FAREBOX_RPC_URL_TESTNET": "ftp://planted-address",
        "FAREBOX_PORT": "planted-port",
        "FAREBOX_CLOCK_POLL_S": "planted-number",
        "FAREBOX_RELAYER_SECRET_PUBNET": "planted-seed",
        "FAREBOX_NO_SUCH_SETTING": "planted-unknown",
    }
    code, written = serve(wrong)
    assert code != 0
    for name in wrong.keys() - GOOD.keys() | {"FAREBOX_RPC_URL_TESTNET", "FAREBOX_PORT"}:
        assert name in written
    assert "FAREBOX_RPC_URL_PUBNET" in written, "what is missing is a fault too"
    assert "planted" not in written
    assert RELAYER not in written
    assert "listening" not in written
    assert "Traceback" not in written


@promise("ingress:loopback-until-keys")
@pytest.mark.parametrize("host", ["::", "example.test"])
def test_start_refuses_bind_beyond_loopback_without_keys(host: str) -> None:
    code, written = serve(GOOD | {"FAREBOX_HOST": host})
    assert code != 0
    assert "FAREBOX_HOST" in written
    assert "listening" not in written


@promise("operator:two-accounts")
def test_start_refuses_one_secret_for_relayer_and_paymaster() -> None:
    same = GOOD | {"FAREBOX_PAYMASTER_SECRET_TESTNET": RELAYER}
    code, written = serve(same)
    assert code != 0
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in written
    assert RELAYER not in written


@promise("fees:operator-fee-is-no-constant")
@pytest.mark.parametrize("name", ["FAREBOX_OPERATOR_FEE_PUBNET", "FAREBOX_FEE_BPS"])
def test_start_refuses_operator_fee(name: str) -> None:
    code, written = serve(GOOD | {name: "25"})
    assert code != 0
    assert name in written


@promise(
    "log:no-payment-signatures",
    "log:no-authorization-xdr",
    "log:no-secrets",
    "log:no-authorization-headers",
)
async def test_log_holds_nothing_planted_in_requests(
    log_text: Callable[[], str], hasty: Stage
) -> None:
    draft = await hasty.draft()
    planted = {
        "authorization": "Bearer planted-bearer",
        "x-api-key": "planted-key",
        "cookie": "planted-cookie",
        "payment-signature": "planted-signature",
    }
    body = draft.request()
    for path in ("/verify", "/settle", "/supported", "/planted-path?planted=1"):
        await hasty.client.post(path, body, planted)
        await hasty.client.post(path, b'{"planted-broken', planted)
    text = body["paymentPayload"]["payload"]["transaction"]
    entry = draft.entry()
    owned = entry.credentials.address
    assert owned is not None
    written = log_text()
    assert "/settle" in written, "the log is there"
    for secret in (
        "planted-bearer",
        "planted-key",
        "planted-cookie",
        "planted-signature",
        "planted-broken",
        text,
        entry.to_xdr(),
        owned.signature.to_xdr(),
        hasty.relayer().secret,
        hasty.node().url,
    ):
        assert secret not in written
