"""The npm facilitator with several signers, measured as ours is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.settle_ground import Ground, Side
from bench.settle_tap import Tap
from bench.sides import PEER, THEIRS
from e2e.machine import ROOT, node_server


@asynccontextmanager
async def theirs(ground: Ground, horizon_url: str, *, signers: int) -> AsyncIterator[Side]:
    """The npm facilitator on the service's core, its signers taking turns."""
    tap = Tap(ground.devnet.rpc_url)
    async with tap.serving() as rpc_url:
        secrets = [signer.secret.reveal() for signer in ground.signers[:signers]]
        env = {
            "RPC_URL": rpc_url,
            "RELAYER_SECRET": ",".join(secrets),
            "HORIZON_URL": horizon_url,
        }
        async with node_server(
            PEER / "facilitator.mjs",
            env=env,
            log=ground.folder / f"npm-{signers}.log",
            prefix=ground.cores.pin_service(),
            preloads=[ROOT / "e2e" / "horizon.cjs"],
        ) as url:
            yield Side(f"{THEIRS} with {signers}", url, tap)
