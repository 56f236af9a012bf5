"""What the buyer's commands refuse before anything is asked of a network."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from farebox.cli.main import command

URL = "http://127.0.0.1:1/"


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("pay", "--help"),
        ("wallet", "--help"),
        ("wallet", "new", "--help"),
        ("wallet", "fund", "--help"),
        ("wallet", "balance", "--help"),
        ("devnet", "--help"),
        ("demo", "--help"),
        ("channels", "--help"),
        ("channels", "create", "--help"),
        ("channels", "list", "--help"),
        ("channels", "drain", "--help"),
        ("channels", "retire", "--help"),
        ("auth", "--help"),
        ("auth", "deploy", "--help"),
        ("sponsor", "stop", "--help"),
        ("sponsor", "start", "--help"),
        ("sponsor", "status", "--help"),
    ],
)
def test_every_command_explains_itself(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_a_new_wallet_prints_its_address_and_never_its_key(tmp_path: Path) -> None:
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
        (("--network", "testnet", "--rpc-url", "file:///x"), "http or https URL"),
        (("--max-amount", "1,5"), "an amount such as 0.05"),
        (("--max-amount", "0.00000001"), "an amount such as 0.05"),
        (("--asset", "USDC"), "contract address"),
        (("--header", "no colon"), "Name: value"),
        (("--header", "X: a\r\nY: b"), "Name: value"),
        (("--timeout", "0"), "x>=1"),
        (
            ("--yes", "--asset", "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"),
            "needs --max-amount",
        ),
    ],
)
def test_wrong_usage_ends_with_two_and_says_what_is_right(
    wallet: str, arguments: tuple[str, ...], words: str
) -> None:
    result = run("pay", URL, "--wallet", wallet, *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output


def test_paying_without_a_wallet_says_how_to_make_one() -> None:
    result = run("pay", URL)
    assert result.exit_code == 2
    assert "farebox wallet new" in result.output


def test_a_seller_that_is_away_is_one_sentence_and_exit_code_one(wallet: str) -> None:
    result = run("pay", URL, "--wallet", wallet)
    assert result.exit_code == 1
    assert result.stderr == (
        "Nothing answers at 127.0.0.1:1: check the URL, and that the seller is running.\n"
    )


def test_a_node_that_is_away_is_one_sentence_and_exit_code_one(wallet: str) -> None:
    node = ("--network", "testnet", "--rpc-url", "http://127.0.0.1:1")
    result = run("wallet", "balance", "--wallet", wallet, *node)
    assert result.exit_code == 1
    assert result.stderr.startswith("farebox: ")
    assert result.stderr.count("\n") == 1
    assert "127.0.0.1" not in result.stderr  # an RPC URL may carry a key


@pytest.mark.parametrize("usdc", ["0", "-1", "much"])
def test_an_amount_that_is_none_is_refused(wallet: str, usdc: str) -> None:
    node = ("--network", "testnet", "--rpc-url", "http://127.0.0.1:1")
    result = run("wallet", "fund", "--wallet", wallet, *node, "--usdc", usdc)
    assert result.exit_code == 2


def test_a_devnet_close_time_is_a_number_or_manual() -> None:
    result = run("devnet", "--close-ms", "soon")
    assert result.exit_code == 2
    assert "give milliseconds, or manual" in result.output


def test_nothing_is_deployed_where_no_network_is_configured() -> None:
    result = run("auth", "deploy", "--network", "pubnet")
    assert result.exit_code == 2
    assert "FAREBOX_RPC_URL_TESTNET" in result.output
