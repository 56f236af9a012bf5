"""The demo: its payments, its output and its processes."""

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from farebox.app.console import PACKAGED, read_console
from farebox.buyer.wallet import open_wallet
from farebox.cli.main import command
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE, USDC
from support.command import run_farebox, start_farebox
from support.demo import START_S, RunningDemo, running_demo
from testing.waiting import until_blocking

WHOLE_COMMAND_S = 60  # a warm one takes under 15 s on two idle cores; this machine may not be idle


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDemo]:
    with running_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running
        assert running.end(signal.SIGINT) == 0
        assert not running.folder.exists()


def farebox(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=answer)


def pay(demo: RunningDemo, network: str, *more: str, answer: str = "") -> Result:
    reach = ("--network", network, "--rpc-url", demo.option("--rpc-url", network))
    wallet = ("--wallet", demo.option("--wallet", network))
    return farebox("pay", demo.paid_url, *reach, *wallet, *more, answer=answer)


def balance(demo: RunningDemo, network: str) -> str:
    reach = ("--network", network, "--rpc-url", demo.option("--rpc-url", network))
    result = farebox("wallet", "balance", *reach, "--wallet", demo.option("--wallet", network))
    assert result.exit_code == 0
    return result.stdout.splitlines()[-1].strip()


def test_demo_once_pays_and_prints_one_line_of_figures() -> None:
    ran = run_farebox("demo", "--once", settings={})
    assert ran.code == 0, ran.err
    figures = json.loads(ran.out.splitlines()[-1])
    assert figures["paid"] is True
    assert len(bytes.fromhex(figures["transaction"])) == 32
    assert 0 < figures["seconds"] < WHOLE_COMMAND_S
    for line in (
        "402",
        "POST /verify",
        '"isValid": true',
        "POST /settle",
        "balances after",
        "a search for",
        "an API behind TLS",
        "is delivered, and not charged again",
        "makes a plan",
        "the run has succeeded",
    ):
        assert line in ran.err
    assert f'"transaction": "{figures["transaction"]}"' in ran.err
    assert "99.95 USDC" in ran.err
    run = re.search(
        r"transaction ([0-9a-f]{64}) is in ledger \d+; the paymaster paid the fee of 0\.\d+ XLM$",
        ran.err,
        re.MULTILINE,
    )
    assert run is not None
    assert run[1] != figures["transaction"]


def test_demo_prints_no_seed(demo: RunningDemo) -> None:
    wallet = open_wallet(Path(demo.option("--wallet", "testnet")))
    assert wallet.seed.reveal() not in demo.story


def test_demo_prints_commands_that_work(demo: RunningDemo) -> None:
    lines = demo.lines_to_try()
    assert len(lines) == 11
    for line in lines:
        words = shlex.split(line)
        if words[0] == "farebox":
            result = farebox(*words[1:], answer="y\n")
            assert result.exit_code == 0, result.output
            continue
        if shutil.which("curl") is None:
            continue
        done = subprocess.run(
            [*words, "--fail-with-body", "--max-time", "60"], capture_output=True, check=False
        )
        assert done.returncode in (0, 22), done.stderr
        expected = (
            b"x402Version",
            b'"status":"ok"',
            b"WEB_AUTH_CONTRACT_ID",
            b'"title":"Run the keeper once"',
        )
        assert any(each in done.stdout for each in expected)


def test_demo_serves_a_console_with_the_development_wallet(demo: RunningDemo) -> None:
    if not read_console(None).files:
        assert "There is no console here" in demo.story
        return
    url = demo.story.partition("The console: ")[2].split()[0]
    with urllib.request.urlopen(url, timeout=10) as answer:
        page = answer.read().decode()
        assert "script-src 'self'" in answer.headers["content-security-policy"]
    first = re.search(r'<script[^>]* src="([^"]+)"', page)
    assert first is not None
    assert first[1] == "/assets/development-wallet.js"
    with urllib.request.urlopen(f"{url.rstrip('/')}{first[1]}", timeout=10) as answer:
        wallet = answer.read().decode()
    assert [name in wallet for name in ('"Buyer"', '"Seller"', '"TESTNET"')] == [True] * 3
    assert not (PACKAGED / "assets" / "development-wallet.js").exists(), "only the copy has it"


def test_reader_makes_a_plan_of_the_keeper_that_the_demo_names(demo: RunningDemo) -> None:
    keeper = demo.story.partition("The keeper contract for plans of your own: ")[2].split()[0]
    plan = demo.ask(
        "",
        {
            "kind": "contract_call",
            "network": "stellar:testnet",
            "title": "Upkeep",
            "schedule": {"type": "condition", "everySeconds": 30},
            "spec": {"contract": keeper, "autolayer": True, "effects": {}},
            "runLimit": 2,
        },
    )["proposal"]["id"]
    assert demo.ask(f"/{plan}/payment", {})["proposal"]["status"] == "paid"
    assert demo.ask(f"/{plan}/activate", {})["proposal"]["status"] == "active"
    until = time.monotonic() + WHOLE_COMMAND_S
    while (first := demo.ask(f"/{plan}/runs")["items"][-1])["finishedAt"] is None:
        assert time.monotonic() < until, first
        time.sleep(0.5)
    assert first["state"] == "succeeded"


def test_demo_has_every_mode_of_plans_and_a_market(demo: RunningDemo) -> None:
    (offered,) = [each for each in demo.ask("/limits")["networks"] if each["isAvailable"]]
    assert (offered["network"], offered["venues"]) == ("stellar:testnet", ["soroswap"])
    assert set(offered["modes"]) == {"open", "presigned", "mandate", "session"}
    usdc, native = USDC[Network.TESTNET].contract, NATIVE[Network.TESTNET].contract
    soon = datetime.now(UTC) + timedelta(minutes=10)
    spec = {
        "venue": "soroswap",
        "tokenIn": usdc,
        "tokenOut": native,
        "amountIn": "10000000",
        "slippageBps": 100,
        "minRate": {"num": "4", "den": "1"},
        "path": [usdc, native],
    }
    trade = demo.ask(
        "/preview",
        {
            "kind": "dca",
            "network": "stellar:testnet",
            "title": "Buy XLM",
            "schedule": {"type": "interval", "everySeconds": 3600, "startAt": soon.isoformat()},
            "expiresAt": (soon + timedelta(hours=6)).isoformat(),
            "spec": spec,
            "runLimit": 2,
        },
    )
    assert trade["preflight"]["ok"], trade
    effects = {
        each["token"]: int(each["amount"]) for each in trade["preflight"]["firstRun"]["effects"]
    }
    assert effects[usdc] == -10_000_000
    assert effects[native] > 4 * 10_000_000


@pytest.mark.parametrize(
    ("network", "form"),
    [("testnet", []), ("testnet", ["--upgraded-auth"]), ("pubnet", ["--upgraded-auth"])],
    ids=["testnet, address", "testnet, address-v2", "pubnet, address-v2"],
)
def test_person_pays_on_both_networks_with_both_signature_forms(
    demo: RunningDemo, network: str, form: list[str]
) -> None:
    """The fourth pair is paid by the program below."""
    result = pay(demo, network, *form, answer="y\n")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["city"] == "Lisbon"
    assert "Pay 0.05 USDC?" in result.stderr
    assert "Paid: transaction " in result.stderr


def test_pay_charges_nothing_without_yes(demo: RunningDemo) -> None:
    before = balance(demo, "testnet")
    for answer in ("n\n", "\n", ""):
        result = pay(demo, "testnet", answer=answer)
        assert (result.exit_code, result.stdout) == (1, ""), answer
        assert "You declined the price; nothing was signed." in result.stderr, answer
    assert balance(demo, "testnet") == before


def test_pay_refuses_price_above_limit_without_prompt(demo: RunningDemo) -> None:
    result = pay(demo, "testnet", "--max-amount", "0.0499999")
    assert result.exit_code == 1
    assert "0.05 USDC is more than 0.0499999 USDC" in result.stderr
    assert "Pay" not in result.stderr.replace("to pay", "").replace("Payment", "")


def test_program_pays_and_reads_one_line(demo: RunningDemo) -> None:
    result = pay(demo, "pubnet", "--yes", "--max-amount", "0.05", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["paid"], report["status"], report["amount"]) == (True, 200, "500000")
    assert report["network"] == "stellar:pubnet"
    assert len(report["transaction"]) == 64


def test_pay_refuses_node_of_another_network_before_signing(demo: RunningDemo) -> None:
    other = demo.option("--rpc-url", "pubnet")
    wallet = demo.option("--wallet", "testnet")
    reach = ("--network", "testnet", "--rpc-url", other)
    result = farebox("pay", demo.paid_url, "--yes", *reach, "--wallet", wallet)
    assert result.exit_code == 1
    assert "follows another network than testnet" in result.stderr


def test_pay_refuses_insufficient_balance_before_sending(demo: RunningDemo, tmp_path: Path) -> None:
    wallet = str(tmp_path / "poor.json")
    reach = ("--network", "testnet", "--rpc-url", demo.option("--rpc-url", "testnet"))
    assert farebox("wallet", "new", "--wallet", wallet).exit_code == 0
    funded = farebox("wallet", "fund", "--wallet", wallet, *reach)
    assert funded.exit_code == 0, funded.output
    assert "  10000 XLM" not in funded.stdout  # the trustline had its fee
    assert "  0 USDC" in funded.stdout
    assert "faucet" in funded.stderr
    result = farebox("pay", demo.paid_url, "--yes", *reach, "--wallet", wallet)
    assert result.exit_code == 1
    assert "the payer holds too little of the token" in result.stderr


def test_killed_demo_leaves_no_process(tmp_path: Path) -> None:
    """It is killed when all its parts run."""
    errors = tmp_path / "err"
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o711)  # the database's user enters it
        with start_farebox("demo", settings={"TMPDIR": place}, errors=errors) as process:
            demo = RunningDemo(process, {}, story_of_parts(process, errors))
            demo.watch_children()
            assert len(demo.children) == 4
            assert demo.end(signal.SIGKILL) == -signal.SIGKILL


def story_of_parts(process: subprocess.Popen[str], errors: Path) -> str:
    """What the demo has printed once all its parts run."""
    last = "a paid API runs"
    until_blocking(lambda: last in errors.read_text() or process.poll() is not None, START_S)
    story = errors.read_text()
    assert last in story, story
    return story


@pytest.mark.parametrize("option", ["--port", "--api-port"])
def test_demo_prints_one_sentence_when_port_is_in_use(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run_farebox("demo", option, str(port), settings={})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"farebox: Port {port} is taken: stop what uses it, or choose another with {option}.\n"
    )
