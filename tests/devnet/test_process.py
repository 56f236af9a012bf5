"""The devnet as a process: its output, its end, HTTPS, friendbot, and admin calls."""

import json
import ssl
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stellar_sdk import Asset, Keypair, SorobanServer

from support.running_devnet import TESTNET, RunningDevnet, binary
from support.sdk_user import SdkUser

PUBNET = "Public Global Stellar Network ; September 2015"
USDC = {
    TESTNET: "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    PUBNET: "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75",
}


def test_devnet_prints_only_its_address() -> None:
    process = subprocess.Popen(
        [str(binary()), "--port", "0", "--passphrase", "one two"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout as out:
        printed = json.loads(out.readline())
        process.terminate()
        assert process.wait(10) == 0
        assert out.read() == b""
    assert printed["passphrase"] == "one two"
    assert printed["rpc"].startswith("http://127.0.0.1:")
    assert printed["admin"].startswith("http://127.0.0.1:")
    assert printed["authority"] is None


def test_used_port_is_explained_in_one_sentence(manual: RunningDevnet) -> None:
    port = manual.rpc_url.rsplit(":", 1)[1]
    refused = subprocess.run(
        [str(binary()), "--port", port], capture_output=True, text=True, timeout=30
    )
    assert refused.returncode == 2
    assert refused.stdout == ""
    (sentence,) = refused.stderr.splitlines()
    assert f"Port {port}" in sentence
    assert "--port" in sentence


def test_wrong_option_is_explained() -> None:
    refused = subprocess.run(
        [str(binary()), "--limits", "x"], capture_output=True, text=True, timeout=30
    )
    assert refused.returncode == 2
    assert "mainnet" in refused.stderr
    helped = subprocess.run([str(binary()), "--help"], capture_output=True, text=True, timeout=30)
    assert helped.returncode == 0
    for option in (
        "--close-ms",
        "--header",
        "--tls",
        "--latency-ms",
        "--stop-with-stdin",
        "/scene",
    ):
        assert option in helped.stdout


def test_devnet_ends_with_its_parent() -> None:
    assert RunningDevnet.start().let_go() == 0


def test_ledgers_close_on_a_clock() -> None:
    devnet = RunningDevnet.start("--close-ms", "50")
    first = devnet.result("getLatestLedger")["sequence"]
    deadline = time.monotonic() + 10
    while devnet.result("getLatestLedger")["sequence"] < first + 5:
        assert time.monotonic() < deadline
    assert devnet.stop() == 0


def test_latency_is_added_to_every_answer() -> None:
    devnet = RunningDevnet.start("--latency-ms", "60")
    started = time.monotonic()
    devnet.result("getHealth")
    assert time.monotonic() - started >= 0.06
    assert devnet.stop() == 0


def test_https_is_trusted_only_with_the_authority(tmp_path: Path) -> None:
    devnet = RunningDevnet.start("--tls", str(tmp_path / "tls"))
    assert devnet.authority is not None
    assert devnet.rpc_url.startswith("https://127.0.0.1:")
    body = b'{"jsonrpc":"2.0","id":1,"method":"getHealth"}'
    headers = {"Content-Type": "application/json"}
    trusting = ssl.create_default_context(cafile=str(devnet.authority))
    for url in (devnet.rpc_url, devnet.rpc_url.replace("127.0.0.1", "localhost")):
        request = urllib.request.Request(url, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=10, context=trusting) as answer:
            assert json.load(answer)["result"]["status"] == "healthy"
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context())
    mode = (devnet.authority.parent / "authority.key").stat().st_mode
    assert mode & 0o077 == 0
    assert devnet.stop() == 0


def test_accounts_are_funded_concurrently() -> None:
    devnet = RunningDevnet.start("--close-ms", "1000")  # more than forty threads take to ask
    keys = [Keypair.random().public_key for _ in range(40)]
    before = devnet.result("getLatestLedger")["sequence"]
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(devnet.friendbot, keys))
    assert [status for status, _ in answers] == [200] * 40
    assert devnet.result("getLatestLedger")["sequence"] - before <= 6
    status, again = devnet.friendbot(keys[0])
    assert status == 400
    assert "createAccountAlreadyExist" in again["detail"]
    assert devnet.friendbot("GABC")[0] == 400
    assert devnet.stop() == 0


@pytest.mark.parametrize("passphrase", [TESTNET, PUBNET, "a network of one's own"])
def test_scene_has_usdc_from_its_public_issuer(passphrase: str) -> None:
    devnet = RunningDevnet.start("--passphrase", passphrase, "--close-ms", "manual")
    wanted = {"payers": 2, "payees": 1, "payer_units": "5000"}
    status, scene = devnet.admin("/scene", wanted)
    assert status == 200, scene
    assert scene["ledger"] == devnet.result("getLatestLedger")["sequence"]
    dollar = Asset("USDC", scene["asset"]["issuer"])
    assert scene["asset"]["contract"] == dollar.contract_id(passphrase)
    assert scene["asset"]["contract"] == USDC.get(passphrase, scene["asset"]["contract"])
    assert scene["native"] == Asset.native().contract_id(passphrase)
    status, more = devnet.admin("/scene", {"payers": 1})
    assert status == 200, more
    payers = [Keypair.from_secret(party["secret"]) for party in scene["payers"] + more["payers"]]
    assert len({payer.public_key for payer in payers}) == 3
    with SorobanServer(devnet.rpc_url) as server:
        user = SdkUser(server, passphrase)
        held = [user.balance(payers[0], dollar, payer.public_key) for payer in payers]
        assert held == [5000, 5000, 10_000_000_000]
        payee = scene["payees"][0]["address"]
        assert user.balance(payers[0], dollar, payee) == 0
        assert user.balance(payers[0], Asset.native(), payee) == 10_000 * 10**7
    assert devnet.stop() == 0


def test_admin_calls_close_ledgers_and_count_calls(manual: RunningDevnet) -> None:
    before = manual.result("getLatestLedger")["sequence"]
    assert manual.close(3) == before + 3
    status, counts = manual.admin("/counts/reset", {})
    assert status == 200
    assert set(counts.values()) == {0}
    manual.result("getHealth")
    manual.result("getHealth")
    counts = manual.admin("/counts")[1]
    assert counts["getHealth"] == 2
    assert sum(counts.values()) == 2
    assert manual.admin("/close", {"count": 0})[0] == 400
    assert manual.admin("/close", {"cuont": 1})[0] == 400
    assert manual.admin("/scene", {"payers": -1})[0] == 400
    assert manual.admin("/scene", {"payer_units": "1.5"})[0] == 400
    assert manual.admin("/elsewhere")[0] == 404
    assert manual.admin("/scene")[0] == 405
