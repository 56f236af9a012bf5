"""Commands that are refused before any network is called."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click import Context, Group
from click.testing import CliRunner, Result

from farebox.automation.lifecycle.stop_plans import PausedPlans
from farebox.cli.exits import UserActionRequired
from farebox.cli.main import command
from farebox.cli.networks import node_endpoint
from farebox.kernel.networks import Network

URL = "http://127.0.0.1:1/"
TOKEN = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"


@pytest.fixture
def wallet(tmp_path: Path) -> str:
    path = str(tmp_path / "wallet.json")
    assert run("wallet", "new", "--wallet", path).exit_code == 0
    return path


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("RPC_URL", "RPC_AUTHORITY"):
        for network in ("TESTNET", "PUBNET"):
            monkeypatch.delenv(f"FAREBOX_{name}_{network}", raising=False)


def run(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=answer)


def command_paths(group: Group, *above: str) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(Context(group)):
        below = group.get_command(Context(group), name)
        yield (*above, name)
        if isinstance(below, Group):
            yield from command_paths(below, *above, name)


NAMED: Final = (
    *("pay", "wallet", "wallet new", "wallet fund", "wallet balance", "devnet", "demo"),
    *("channels", "channels create", "channels list", "channels drain", "channels retire"),
    *("auth", "auth deploy", "automation", "automation deploy"),
    *("sponsor stop", "sponsor start", "sponsor status"),
)


def test_every_command_has_a_help_page() -> None:
    paths = set(command_paths(command))
    assert {tuple(name.split()) for name in NAMED} <= paths
    for path in paths:
        result = run(*path, "--help")
        assert (result.exit_code, "Usage:" in result.output) == (0, True), path


def test_wallet_new_prints_the_address_and_never_the_key(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key.json"
    result = run("wallet", "new", "--wallet", str(path))
    address = result.stdout.strip()
    assert (result.exit_code, len(address), address[0]) == (0, 56, "G")
    secret = path.read_text().split('"secret": "')[1][:56]
    assert secret not in result.output
    again = run("wallet", "new", "--wallet", str(path))
    assert again.exit_code == 2
    assert again.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--network", "mainnet"), "name testnet or pubnet"),
        (("--rpc-url", "http://127.0.0.1:1"), "--rpc-url needs --network"),
        (("--network", "pubnet"), "FAREBOX_RPC_URL_PUBNET"),
        (("--yes",), "--yes needs --network"),
        (("--max-life", "0"), "x>=15"),
        (("--look", __file__), "or a payment's file with --look or --repeat"),
        (("--network", "testnet", "--rpc-url", "file:///x"), "https:// URL"),
        (("--max-amount", "1,5"), "an amount such as 0.05"),
        (("--max-amount", "0.00000001"), "an amount such as 0.05"),
        (("--asset", "USDC"), "contract address"),
        (("--header", "no colon"), "Name: value"),
        (("--header", "X: a\r\nY: b"), "Name: value"),
        (("--timeout", "0"), "x>=1"),
        (
            (
                "--yes",
                "--network",
                "testnet",
                "--asset",
                "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
            ),
            "needs --max-amount",
        ),
    ],
)
def test_wrong_usage_exits_with_two_and_names_the_correct_form(
    wallet: str, arguments: tuple[str, ...], words: str
) -> None:
    result = run("pay", URL, "--wallet", wallet, *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output


@pytest.mark.parametrize("option", ["--look", "--repeat"])
def test_file_that_is_no_payment_is_wrong_usage(option: str) -> None:
    result = run("pay", option, __file__)
    assert result.exit_code == 2
    assert "is not a payment kept by" in result.stderr
    assert run("pay").exit_code == 2


def test_pay_without_a_wallet_names_the_command_that_makes_one() -> None:
    result = run("pay", URL)
    assert result.exit_code == 2
    assert "farebox wallet new" in result.output


def test_pay_exits_with_one_sentence_when_the_seller_is_unavailable(wallet: str) -> None:
    result = run("pay", URL, "--wallet", wallet)
    assert result.exit_code == 1
    assert result.stderr == (
        "Nothing listens at 127.0.0.1:1: check the URL, and that the seller is running.\n"
    )


def test_wallet_balance_exits_with_one_sentence_when_the_node_is_unavailable(wallet: str) -> None:
    node = ("--network", "testnet", "--rpc-url", "http://127.0.0.1:1")
    result = run("wallet", "balance", "--wallet", wallet, *node)
    assert result.exit_code == 1
    assert result.stderr.startswith("farebox: ")
    assert result.stderr.count("\n") == 1
    assert "127.0.0.1" not in result.stderr  # an RPC URL may carry a key


@pytest.mark.parametrize("usdc", ["0", "-1", "much"])
def test_wallet_fund_refuses_an_invalid_amount(wallet: str, usdc: str) -> None:
    node = ("--network", "testnet", "--rpc-url", "http://127.0.0.1:1")
    result = run("wallet", "fund", "--wallet", wallet, *node, "--usdc", usdc)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("demo", "--port", "70000"),
        ("demo", "--api-port", "-1"),
        ("devnet", "--port", "65536"),
        ("devnet", "--admin-port", "x"),
    ],
)
def test_invalid_port_is_refused_by_its_option(name: str, option: str, value: str) -> None:
    result = run(name, option, value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for '{option}'" in result.stderr


def test_devnet_close_time_is_a_number_or_manual() -> None:
    result = run("devnet", "--close-ms", "soon")
    assert result.exit_code == 2
    assert "give milliseconds, or manual" in result.output


def test_auth_deploy_is_refused_when_no_network_is_configured() -> None:
    result = run("auth", "deploy", "--network", "pubnet")
    assert result.exit_code == 2
    assert "FAREBOX_RPC_URL_TESTNET" in result.output


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("http://node.example", False),
        ("http://203.0.113.7:8000", False),
        ("https://[::1", False),
        ("ftp://node.example", False),
        ("https://node.example", True),
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000/rpc", True),
    ],
)
def test_plain_http_node_is_refused_off_the_loopback(url: str, is_taken: bool) -> None:
    if is_taken:
        assert node_endpoint(Network.PUBNET, url, None).rpc_url == url
    else:
        with pytest.raises(UserActionRequired, match="https://"):
            node_endpoint(Network.PUBNET, url, None)


def test_automation_pause_names_the_plans_that_could_not_be_paused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused = PausedPlans(2, ("auto_x", "auto_y"))
    monkeypatch.setattr("farebox.cli.automation.run_with_database", lambda work: paused)
    result = run("automation", "pause", "--network", "testnet")
    assert result.exit_code == 1
    assert "2 plans are paused" in result.output
    assert "These plans could not be paused: auto_x, auto_y." in result.output
