"""Buyers: the unmodified npm packages, and our own `farebox pay`; both against an npm seller."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from e2e.clients import SignedPayment
from testing.machine import ROOT, RunFailed, build_environment, node_command, say
from testing.stage import HORIZON_PRELOAD, PRICE_UNITS, Market, Stage

_FAREBOX: Final = "from farebox.cli.main import main; main()"
_PAYMENT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Tally:
    """Payments of one network: how many were tried, which landed, and the faults."""

    tried: int
    hashes: tuple[str, ...]
    faults: tuple[str, ...] = ()

    @property
    def paid(self) -> int:
        """Payments that the ledger confirms."""
        return len(self.hashes)


async def pay_with_npm(stage: Stage, market: Market, count: int) -> Tally:
    """Buy `count` times with @x402/fetch and confirm the payments on the ledger."""
    before = await market.seller_balance()
    hashes: list[str] = []
    faults: list[str] = []
    async for line in _npm_buyer(stage, market, "pay", count):
        receipt = line.get("receipt") or {}
        if line["paid"]:
            hashes.append(str(receipt.get("transaction")))
            say(f"{market.network}: paid {len(hashes)}/{count} by npm in {line['ms']} ms")
        else:
            faults.append(_fault(line))
            say(f"{market.network}: not paid: {faults[-1]}")
    return await _confirm_on_ledger(market, count, hashes, faults, before)


async def sign_with_npm(stage: Stage, market: Market, count: int) -> list[SignedPayment]:
    """Sign payments with the npm packages for the seller's offer, without settling them."""
    signed = []
    async for line in _npm_buyer(stage, market, "sign", count):
        if "payment" not in line:
            raise RunFailed(f"the npm client did not sign: {line.get('error')}")
        payment: dict[str, Any] = line["payment"]
        signed.append(SignedPayment(payment, payment["accepted"]))
    return signed


async def pay_with_farebox(stage: Stage, market: Market, count: int) -> Tally:
    """Buy `count` times with `farebox pay` and confirm the payments on the ledger."""
    wallet = stage.folder / f"wallet-{market.network.name.lower()}.json"
    await asyncio.to_thread(_write_wallet, market, wallet)
    before = await market.seller_balance()
    hashes: list[str] = []
    faults: list[str] = []
    for _ in range(count):
        code, output = await _run_farebox(pay_arguments(stage, market, wallet))
        report = _last_json(output)
        if code == 0 and report.get("paid") is True:
            hashes.append(str(report["transaction"]))
            say(f"{market.network}: paid {len(hashes)}/{count} by farebox pay")
        else:
            faults.append(f"exit {code}: {output.strip()[-300:]}")
            say(f"{market.network}: not paid: {faults[-1]}")
    return await _confirm_on_ledger(market, count, hashes, faults, before)


def pay_arguments(stage: Stage, market: Market, wallet: Path) -> list[str]:
    """Build the command line of one purchase."""
    arguments = ["pay", stage.url(market), "--yes", "--json", "--wallet", str(wallet)]
    arguments += ["--network", market.network.name.lower()]
    arguments += ["--rpc-url", market.served.devnet.rpc_url]
    if market.served.devnet.authority is not None:
        arguments += ["--rpc-authority", str(market.served.devnet.authority)]
    return arguments


async def _npm_buyer(
    stage: Stage, market: Market, mode: str, count: int
) -> AsyncIterator[Mapping[str, Any]]:
    options = {
        "mode": mode,
        "url": stage.url(market),
        "network": market.network.value,
        "rpc": market.served.devnet.rpc_url,
        "secret": market.buyer.secret.reveal(),
        "count": count,
    }
    process = await asyncio.create_subprocess_exec(
        *node_command(ROOT / "e2e" / "buyer.mjs", [HORIZON_PRELOAD]),
        env=build_environment({"BUYER": json.dumps(options), **stage.node_env}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    try:
        if process.stdout is None or process.stderr is None:
            raise RunFailed("the npm buyer has no output")
        lines = 0
        while raw := await asyncio.wait_for(process.stdout.readline(), _PAYMENT_S):
            lines += 1
            yield json.loads(raw)
        if lines != count:
            output = (await process.stderr.read()).decode(errors="replace")
            raise RunFailed(f"the npm buyer ended early:\n{output[-800:]}")
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _run_farebox(arguments: list[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _FAREBOX,
        *arguments,
        env=build_environment({}),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _PAYMENT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return -1, "no answer within two minutes"
    return process.returncode or 0, output.decode(errors="replace")


async def _confirm_on_ledger(
    market: Market, tried: int, hashes: list[str], faults: list[str], before: int
) -> Tally:
    """Keep the receipts that the ledger confirms; the seller's balance must agree."""
    landed: list[str] = []
    for transaction in dict.fromkeys(hashes):
        status = await market.ledger.transaction_status(transaction)
        if status == "SUCCESS":
            landed.append(transaction)
        else:
            faults.append(f"{transaction} is {status} on the ledger")
    earned = await market.seller_balance() - before
    if earned != PRICE_UNITS * len(landed):
        faults.append(f"the seller earned {earned} base units for {len(landed)} payments")
    return Tally(tried, tuple(landed), tuple(faults))


def _last_json(output: str) -> dict[str, Any]:
    """Read the last line of JSON in an output; empty when there is none."""
    for line in reversed(output.splitlines()):
        with contextlib.suppress(ValueError):
            report: dict[str, Any] = json.loads(line)
            return report
    return {}


def _fault(line: Mapping[str, Any]) -> str:
    return str(line.get("error") or {k: line.get(k) for k in ("status", "receipt", "body")})


def _write_wallet(market: Market, path: Path) -> None:
    path.touch(mode=0o600)
    body = {"address": market.buyer.address, "secret": market.buyer.secret.reveal()}
    path.write_text(json.dumps(body))
