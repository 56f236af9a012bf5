"""Starts the npm facilitator with several signers, for measurement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.facilitators import PEER, THEIRS
from bench.settle_relay import RpcRelay
from bench.settle_setup import MeasuredFacilitator, SettleSetup
from testing.machine import ROOT, node_server


@asynccontextmanager
async def start_npm_facilitator(
    setup: SettleSetup, horizon_url: str, *, signers: int
) -> AsyncIterator[MeasuredFacilitator]:
    """Start the npm facilitator on the service's core; it uses its signers in turn."""
    relay = RpcRelay(setup.devnet.rpc_url)
    async with relay.serving() as rpc_url:
        secrets = [signer.secret.reveal() for signer in setup.signers[:signers]]
        env = {
            "RPC_URL": rpc_url,
            "RELAYER_SECRET": ",".join(secrets),
            "HORIZON_URL": horizon_url,
        }
        async with node_server(
            PEER / "facilitator.mjs",
            env=env,
            log=setup.folder / f"npm-{signers}.log",
            prefix=setup.cores.pin_service(),
            preloads=[ROOT / "e2e" / "horizon.cjs"],
        ) as url:
            yield MeasuredFacilitator(f"{THEIRS} with {signers}", url, relay)
