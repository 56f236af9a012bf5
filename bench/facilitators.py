"""The two measured facilitators, with the node and the payments that they share."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, SorobanServer

from bench.cores import Cores
from bench.payloads import Terms, signed_transfer
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from testing.horizon import HorizonStub
from testing.machine import (
    ROOT,
    ServedNetwork,
    node_server,
    our_service,
    say,
    subfolder,
)

PEER: Final = ROOT / "bench" / "peer"
OURS: Final = "farebox"
THEIRS: Final = "npm"
THEIRS_FREE: Final = "npm, Horizon free"

_CADENCE_S: Final = 5
_LIFE_LEDGERS: Final = 600
_MAX_TIMEOUT_S: Final = 3600
_SIGNERS: Final = 8
_IDLE_S: Final = 8.0
_BY_CHANCE: Final = 3


@dataclass(frozen=True, slots=True)
class VerifySetup:
    """The shared setup: one devnet, one set of signed payments, one Horizon stub."""

    devnet: Devnet
    terms: Terms
    payments: tuple[str, ...]
    horizon: HorizonStub
    urls: Mapping[str, str]
    idle_calls_per_s: Mapping[str, float]


@contextlib.asynccontextmanager
async def open_verify_setup(
    folder: Path, cores: Cores, *, latency_ms: int, payments: int
) -> AsyncIterator[VerifySetup]:
    """Start a devnet with that latency, sign the payments and start every facilitator."""
    own_folder = subfolder(folder, f"latency-{latency_ms}")
    options = DevnetOptions(
        passphrase=Network.TESTNET.passphrase,
        close_ms=_CADENCE_S * 1000,
        latency_ms=latency_ms,
        log=own_folder / "devnet.log",
    )
    async with contextlib.AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        scene = await devnet.scene(payers=_SIGNERS + 2, payees=1)
        say(f"signing {payments} payments at {latency_ms} ms latency")
        terms = Terms(scene.asset, scene.payees[0].address, 10_000, _MAX_TIMEOUT_S)
        signed = await asyncio.to_thread(sign_payments, devnet.rpc_url, scene, terms, payments)
        horizon = HorizonStub(cadence_s=_CADENCE_S, latency_ms=latency_ms)
        horizon_url = await stack.enter_async_context(horizon.serving())
        say("starting farebox and the npm facilitator, one core in turn")
        urls = await _start_facilitators(stack, own_folder, cores, devnet, scene, horizon_url)
        yield VerifySetup(devnet, terms, signed, horizon, urls, await _idle_calls(devnet))


def sign_payments(rpc_url: str, scene: Scene, terms: Terms, count: int) -> tuple[str, ...]:
    """Sign `count` distinct long-lived payments by several payers, in order of use."""

    def sign_share(signer: int) -> list[str]:
        keypair = Keypair.from_secret(scene.payers[signer].secret.reveal())
        with SorobanServer(rpc_url) as server:
            expires = server.get_latest_ledger().sequence + _LIFE_LEDGERS
            share = range(signer, count, _SIGNERS)
            return [
                signed_transfer(server, keypair, terms, expires_at_ledger=expires) for _ in share
            ]

    with ThreadPoolExecutor(_SIGNERS) as pool:
        return tuple(tx for signed in pool.map(sign_share, range(_SIGNERS)) for tx in signed)


async def _start_facilitators(
    stack: contextlib.AsyncExitStack,
    folder: Path,
    cores: Cores,
    devnet: Devnet,
    scene: Scene,
    horizon_url: str,
) -> dict[str, str]:
    prefix = cores.pin_service()
    ours = ServedNetwork(Network.TESTNET, devnet, scene.payers[-1].secret)
    urls = {
        OURS: await stack.enter_async_context(our_service([ours], folder=folder, prefix=prefix))
    }
    env = {
        "RPC_URL": devnet.rpc_url,
        "RELAYER_SECRET": scene.payers[-2].secret.reveal(),
        "HORIZON_URL": horizon_url,
    }
    preloads = {
        THEIRS: ROOT / "e2e" / "horizon.cjs",
        THEIRS_FREE: PEER / "horizon_free.cjs",
    }
    for name, preload in preloads.items():
        log = folder / f"{preload.stem}.log"
        urls[name] = await stack.enter_async_context(
            node_server(
                PEER / "facilitator.mjs", env=env, log=log, prefix=prefix, preloads=[preload]
            )
        )
    return urls


async def _idle_calls(devnet: Devnet) -> dict[str, float]:
    """Measure the RPC calls a second without requests, which the clock task makes."""
    await devnet.reset_counts()
    await asyncio.sleep(_IDLE_S)
    counts = await devnet.counts()
    return {method: calls / _IDLE_S for method, calls in counts.items() if calls}


def calls_beyond_idle(
    counts: Mapping[str, int], idle_per_s: Mapping[str, float], *, elapsed_s: float
) -> Counter[str]:
    """Return the calls that requests caused, without those of background tasks.

    A background call may fall into a window by chance, so a few of any method are ignored; a method
    that verification needs is called thousands of times.
    """
    caused: Counter[str] = Counter()
    for method, calls in counts.items():
        chance = 0 if method == "simulateTransaction" else _BY_CHANCE
        caused[method] = max(0, round(calls - idle_per_s.get(method, 0.0) * elapsed_s - chance))
    return +caused
