"""BENCH=devnet: transfers a second through queue, apply, fees and meta; simulation over HTTP."""

import asyncio
import json
import os
import shutil
from typing import Final

from stellar_sdk import Keypair, SorobanServer

from bench.cores import divide_cores
from bench.measure import Requests, Rounds, load
from bench.payloads import Terms, signed_transfer
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, Scene, start_devnet
from farebox.local.devnet_binary import cache_folder
from testing.machine import ROOT, RunFailed, say, scratch_folder
from testing.report import run_and_report, timed

_SOURCES: Final = ROOT / "devnet"
_PROGRAM: Final = "devnet_bench"
_PAYMENTS: Final = 64
_IN_PROCESS: Final = {
    "simulate_ms_p50": "simulate_in_process_ms_p50",
    "simulate_ms_p99": "simulate_in_process_ms_p99",
}


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the devnet is fast enough, and the figures."""
    applied = await _measure_transfers(quick=quick)
    one, eight = await _measure_simulations(seconds=1.0 if quick else 4.0, rounds=2 if quick else 5)
    figures: dict[str, object] = {
        **{_IN_PROCESS.get(name, name): value for name, value in applied.items()},
        "simulate_ms_p50": round(one.p50_ms, 3),
        "simulate_one_in_flight": one.figures(),
        "simulate_eight_in_flight": eight.figures(),
    }
    holds = (
        float(str(applied.get("transfers_per_s", 0))) >= 1000
        and one.p50_ms < 5
        and one.unexpected == eight.unexpected == 0
    )
    return holds, figures


async def _measure_transfers(*, quick: bool) -> dict[str, object]:
    """Build and run the devnet's own bench program; return its figures."""
    target = cache_folder() / "devnet" / "target"
    if shutil.which("cargo") is None:
        raise RunFailed("there is no Rust compiler here: install cargo and run this again")
    say("building the devnet's bench program")
    await _run_program(
        ["cargo", "build", "--release", "--locked", "--bin", _PROGRAM, "--color", "never"],
        env={"CARGO_TARGET_DIR": str(target)},
    )
    say("applying asset-contract transfers on one core")
    program = str(target / "release" / _PROGRAM)
    short = ["--quick"] if quick else []
    out = await _run_program([*divide_cores().pin_service(), program, *short], env={})
    try:
        figures: dict[str, object] = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise RunFailed(f"the devnet's bench program printed no figures: {out[-300:]}") from error
    return figures


async def _run_program(command: list[str], *, env: dict[str, str]) -> str:
    """Run a program with its progress on standard error; return its standard output."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=_SOURCES, env={**os.environ, **env}, stdout=asyncio.subprocess.PIPE
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if process.returncode:
        raise RunFailed(f"{command[0]} ended with {process.returncode}")
    return out.decode(errors="replace")


async def _measure_simulations(*, seconds: float, rounds: int) -> tuple[Rounds, Rounds]:
    """Measure simulateTransaction over HTTP, with one and with eight requests in flight."""
    with scratch_folder("farebox-bench-") as folder:
        options = DevnetOptions(Network.TESTNET.passphrase, log=folder / "devnet.log")
        async with await start_devnet(options, progress=say) as devnet:
            scene = await devnet.scene(payers=1, payees=1)
            bodies = await asyncio.to_thread(_simulate_bodies, devnet.rpc_url, scene)
            requests = Requests("/", bodies, ('"minResourceFee"',))
            await load(devnet.rpc_url, requests, seconds=1.0)
            one, eight = Rounds(), Rounds()
            for _ in range(rounds):
                for in_flight, measured in ((1, one), (8, eight)):
                    measured.results.append(
                        await load(devnet.rpc_url, requests, seconds=seconds, in_flight=in_flight)
                    )
                    say(
                        f"simulate, {in_flight} in flight: p50 {measured.results[-1].p50_ms:.2f} ms"
                    )
            return one, eight


def _simulate_bodies(rpc_url: str, scene: Scene) -> tuple[bytes, ...]:
    """Build simulateTransaction requests (enforcing) of signed transfers."""
    terms = Terms(scene.asset, scene.payees[0].address, 10_000, 3600)
    keypair = Keypair.from_secret(scene.payers[0].secret.reveal())
    with SorobanServer(rpc_url) as server:
        expires = server.get_latest_ledger().sequence + 600
        signed = [
            signed_transfer(server, keypair, terms, expires_at_ledger=expires)
            for _ in range(_PAYMENTS)
        ]
    return tuple(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "simulateTransaction",
                "params": {"transaction": transaction},
            }
        ).encode()
        for number, transaction in enumerate(signed)
    )


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
