"""`farebox pay` at sellers whose answers are not what the ledger has, on a real ledger.

A seller settles or does not, and answers what it likes: what the command says is the ledger's.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from farebox.cli.main import command
from farebox.kernel.networks import Network
from farebox.x402.headers import decode_header, encode_header
from support.stage import Stage
from testing.servers import serving

Json = dict[str, Any]
Answer = Callable[[Json], web.StreamResponse]


@dataclass
class Seller:
    """A seller that settles each payment, or not, and then gives its next answer."""

    stage: Stage
    terms: Json
    answer: Answer
    settles: bool = True
    seen: list[str] = field(default_factory=list)
    url: str = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        payment = request.headers.get("PAYMENT-SIGNATURE")
        if payment is None:
            offer = {"x402Version": 2, "accepts": [self.terms], "error": "Payment required"}
            return web.Response(status=402, headers={"PAYMENT-REQUIRED": encode_header(offer)})
        self.seen.append(payment)
        return self.answer(await self.settle(payment) if self.settles else {})

    async def settle(self, payment: str) -> Json:
        """Settle a payment; return the receipt."""
        payload = decode_header(payment)
        body = {"x402Version": 2, "paymentPayload": payload, "paymentRequirements": self.terms}
        outcome = await self.stage.settle(body)
        assert outcome["success"], outcome
        return outcome


def status(code: int, receipt: Json | None = None, **headers: str) -> Answer:
    """An answer of this status, with a made-up receipt or with none."""
    more = {} if receipt is None else {"PAYMENT-RESPONSE": encode_header(receipt)}
    return lambda _: web.Response(status=code, body=b"text", headers={**headers, **more})


def honest(receipt: Json) -> web.StreamResponse:
    """The answer of an honest seller."""
    return web.Response(body=b"sunny", headers={"PAYMENT-RESPONSE": encode_header(receipt)})


def cut(_: Json) -> web.StreamResponse:
    """A response that breaks off."""
    raise ConnectionResetError


@pytest.fixture
async def seller(stage: Stage) -> AsyncIterator[Seller]:
    """A seller on this machine."""
    draft = await stage.draft()
    shop = Seller(stage, draft.terms(), honest)
    app = web.Application()
    app.router.add_get("/", shop.serve)
    async with serving(app) as url:
        shop.url = f"{url}/"
        yield shop


@dataclass
class Command:
    """`farebox pay` with a wallet of the stage; each call is a process of its own."""

    stage: Stage
    folder: Path

    async def run(self, *arguments: str) -> Result:
        """Run the command."""
        return await asyncio.to_thread(CliRunner().invoke, command, ("pay", *arguments))

    async def buy(self, seller: Seller, *more: str) -> tuple[int, Json]:
        """Buy at this seller; return the exit code and the line of JSON."""
        network = self.stage.networks[Network.TESTNET]
        payer = await self.stage.another_payer()
        wallet = self.folder / "wallet.json"
        wallet.write_text(json.dumps({"address": payer.address, "secret": payer.secret.reveal()}))
        wallet.chmod(0o600)
        result = await self.run(
            *(seller.url, "--yes", "--json", "--wallet", str(wallet), "--network", "testnet"),
            *("--rpc-url", network.devnet.rpc_url, "--max-amount", "1", "--wait", "2"),
            *("--payments", str(self.folder / "kept"), "--timeout", "20", *more),
        )
        return result.exit_code, json.loads(result.stdout.splitlines()[-1])

    def kept(self) -> list[Path]:
        """Return the payments that are kept."""
        return sorted((self.folder / "kept").glob("*"))


@pytest.fixture
def buyer(stage: Stage, tmp_path: Path) -> Command:
    """The command."""
    return Command(stage, tmp_path)


LIES: dict[str, Answer] = {
    "402": status(402),
    "404": status(404),
    "504": status(504),
    "307": status(307, Location="http://127.0.0.1:1/"),
    "402, failed": status(402, {"success": False, "errorReason": "x", "transaction": ""}),
    "made up": status(200, {"success": True, "transaction": "ab" * 32,
                            "network": "stellar:testnet"}),
    "elsewhere": status(200, {"success": True, "transaction": "ab" * 32,
                              "network": "stellar:pubnet"}),
    "cut": cut,
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_landed_payment_is_paid_whatever_the_seller_answers(
    seller: Seller, buyer: Command, lie: Answer
) -> None:
    seller.answer = lie
    code, line = await buyer.buy(seller)
    assert (code, line["outcome"], line["paid"]) == (0, "paid", True)
    assert (await buyer.stage.ledger().found(line["transaction"]))["status"] == "SUCCESS"
    assert len(seller.seen) == 1


@pytest.mark.parametrize("lie", ["402", "402, failed", "made up", "cut"])
async def test_payment_that_did_not_land_is_unknown_until_its_last_ledger_and_then_refused(
    seller: Seller, buyer: Command, lie: str
) -> None:
    seller.answer, seller.settles = LIES[lie], False
    code, line = await buyer.buy(seller, "--max-life", "40", "--wait", "0")
    assert (code, line["outcome"], line["paid"]) == (3, "unknown", False)
    (file,) = buyer.kept()
    assert line["look"] == f"farebox pay --look {file}"
    await buyer.stage.networks[Network.TESTNET].devnet.jump(0, ledgers=41)
    assert await buyer.stage.ledger().latest() > line["expiresAtLedger"]
    looked = await buyer.run("--look", str(file))
    assert looked.exit_code == 1
    assert "Nothing was charged" in looked.stderr
    assert buyer.kept() == []


async def test_payment_that_lands_after_the_answer_is_found_by_a_later_look(
    seller: Seller, buyer: Command
) -> None:
    seller.answer, seller.settles = status(402), False
    code, _ = await buyer.buy(seller)  # it waits for the ledger, in vain
    assert code == 3
    (file,) = buyer.kept()
    receipt = await seller.settle(seller.seen[0])
    looked = await buyer.run("--look", str(file), "--json")
    line = json.loads(looked.stdout)
    assert (looked.exit_code, line["transaction"]) == (0, receipt["transaction"])
    assert "farebox pay --repeat" in looked.stderr
    assert buyer.kept() == [file]


async def test_payment_is_repeated_with_the_very_same_bytes_and_charged_once(
    seller: Seller, buyer: Command
) -> None:
    seller.answer = status(502)
    code, line = await buyer.buy(seller)
    assert code == 0
    (file,) = buyer.kept()
    assert line["repeat"] == f"farebox pay --repeat {file}"
    paid = await buyer.stage.ledger().balance(seller.terms["asset"], seller.terms["payTo"])
    seller.answer, seller.settles = status(200), False
    again = await buyer.run("--repeat", str(file))
    assert (again.exit_code, again.stdout) == (0, "text")
    assert seller.seen[0] == seller.seen[1]
    identifier: Any = decode_header(seller.seen[0])
    assert len(identifier["extensions"]["payment-identifier"]["info"]["id"]) == 36
    now = await buyer.stage.ledger().balance(seller.terms["asset"], seller.terms["payTo"])
    assert now == paid
    assert buyer.kept() == []


async def test_look_at_a_node_that_is_away_or_of_another_network(
    seller: Seller, buyer: Command
) -> None:
    seller.answer, seller.settles = status(402), False
    await buyer.buy(seller, "--wait", "0")
    (file,) = buyer.kept()
    nowhere = ("--rpc-url", "http://127.0.0.1:1", "--wait", "0")
    away = await buyer.run("--look", str(file), *nowhere)
    assert (away.exit_code, buyer.kept()) == (3, [file])
    assert "the node gives no answer" in away.stderr
    other = buyer.stage.networks[Network.PUBNET].devnet.rpc_url
    wrong = await buyer.run("--look", str(file), "--rpc-url", other)
    assert (wrong.exit_code, buyer.kept()) == (2, [file])


async def test_pubnet_is_never_paid_on_in_the_sellers_order(
    seller: Seller, buyer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for network in Network:
        url = buyer.stage.networks[network].devnet.rpc_url
        monkeypatch.setenv(f"FAREBOX_RPC_URL_{network.label.upper()}", url)
    await buyer.buy(seller)  # makes the wallet
    wallet, pubnet = str(buyer.folder / "wallet.json"), (await buyer.stage.draft(Network.PUBNET))
    seller.terms = pubnet.terms()
    seller.seen.clear()
    unnamed = await buyer.run(seller.url, "--wallet", wallet)
    assert unnamed.exit_code == 1
    assert "stellar:pubnet (name it with --network" in unnamed.stderr
    approved = await buyer.run(seller.url, "--wallet", wallet, "--yes")
    assert approved.exit_code == 2
    assert seller.seen == []
