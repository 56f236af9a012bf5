"""The development wallet: in a copy of a build, and refused wherever money is real."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.app.console import (
    PACKAGED,
    Console,
    DevelopmentWalletRefused,
    check_console,
    read_console,
)
from farebox.buyer.wallet import wallet_of
from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.development_wallet import WalletAccount, add_development_wallet, wallet_script
from farebox.local.faults import LocalFault
from support.asgi import AsgiClient
from support.console import NO_DATABASE, SCRIPT_PATH, write_console

BUYER: Final = wallet_of(Secret(Keypair.random().secret))
LOCAL: Final = ("http://127.0.0.1:8000", "https://localhost/rpc", "http://[::1]:1")
WALLET: Final = "/assets/development-wallet.js"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    script = wallet_script([WalletAccount("Buyer", BUYER)], Network.TESTNET)
    return add_development_wallet(write_console(tmp_path / "a"), tmp_path / "b", script)


def _network(url: str) -> dict[str, str]:
    return {
        "FAREBOX_RPC_URL_TESTNET": url,
        "FAREBOX_RELAYER_SECRET_TESTNET": Keypair.random().secret,
    }


def test_wallet_is_a_script_of_its_own_before_those_of_the_page(
    folder: Path, tmp_path: Path
) -> None:
    page = (folder / "index.html").read_text()
    assert re.findall(r'<script[^>]* ?src="([^"]+)"', page) == [WALLET, SCRIPT_PATH]
    assert "development" not in (tmp_path / "a" / "index.html").read_text()


def test_wallet_has_the_accounts_that_it_is_given() -> None:
    contract = contract_address(bytes(32))
    accounts = (WalletAccount("Buyer", BUYER), WalletAccount("Vault", BUYER, contract))
    script = wallet_script(accounts, Network.PUBNET, asks=False)
    config = json.loads(script.rpartition("})(")[2].removesuffix(");\n"))
    assert config == {
        "accounts": [
            {"name": name, "address": address, "signer": BUYER.address, "seed": BUYER.seed.reveal()}
            for name, address in (("Buyer", BUYER.address), ("Vault", contract))
        ],
        "network": "PUBNET",
        "passphrase": Network.PUBNET.passphrase,
        "asks": False,
    }


def test_page_without_a_script_is_no_console(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><p>Something else</p>")
    with pytest.raises(LocalFault, match="is not the page of the console"):
        add_development_wallet(tmp_path, tmp_path / "copy", "")


async def test_wallet_is_served_with_local_nodes(folder: Path) -> None:
    for url in LOCAL:
        own = {**NO_DATABASE, **_network(url), "FAREBOX_CONSOLE_DIR": str(folder)}
        app = create_app(read_settings(own | {"FAREBOX_SEARCH_SEMANTIC": "off"}))
        answer = await AsgiClient(app).get(WALLET)
        assert answer.status == 200
        assert BUYER.seed.reveal().encode() in answer.body
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-cache"


def test_service_with_a_node_elsewhere_does_not_start_with_the_wallet(folder: Path) -> None:
    own = {**NO_DATABASE, **_network("https://rpc.example.com"), "FAREBOX_CONSOLE_DIR": str(folder)}
    with pytest.raises(DevelopmentWalletRefused, match="build the console again"):
        create_app(read_settings(own))
    check_console(read_console(folder), LOCAL)
    for url in ("https://rpc.example.com", "http://10.0.0.1", "http://localhost.example.com", "x"):
        with pytest.raises(DevelopmentWalletRefused):
            check_console(read_console(folder), [*LOCAL, url])


def test_packaged_build_with_the_wallet_is_refused_everywhere(folder: Path) -> None:
    planted = Console(PACKAGED, read_console(folder).files)
    with pytest.raises(DevelopmentWalletRefused):
        check_console(planted, LOCAL)


def test_build_without_the_wallet_is_served_with_every_node(tmp_path: Path) -> None:
    check_console(read_console(write_console(tmp_path)), ["https://rpc.example.com"])
