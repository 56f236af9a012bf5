"""E2E=upto: the draft scheme `upto` on the built contract, step by step (docs/upto.md).

The payer is the page's own client; the captor sends what it signed. Two devnets with the limits of
mainnet, one with QUICK=1, whose ledgers are closed by hand.
"""

import asyncio
import json
import runpy
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

from e2e.snippets import Kind, read_snippets
from e2e.upto_chain import UptoChain
from e2e.upto_parties import SignGrant
from e2e.upto_steps import UptoSteps, failed_steps
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from testing.machine import ROOT, RunFailed, build_environment, say, scratch_folder, subfolder
from testing.report import run_and_report, timed

PAGE: Final = ROOT / "docs" / "upto.md"
CLIENT: Final = "upto_payer.py"
_ACCOUNTS: Final = 5
_CLIENT_S: Final = 60


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether every step ended as it must, and the figures."""
    count = captured = refused = 0
    failed: list[str] = []
    with scratch_folder("farebox-upto-") as scratch:
        client = write_client(scratch)
        for network in [Network.TESTNET] if quick else list(Network):
            folder = subfolder(scratch, network.label)
            say(f"upto on a devnet of {network.label}")
            steps, more = await _run_steps(network, folder, client)
            count, failed = count + more[0], failed + more[1]
            captured, refused = captured + steps.captured, refused + steps.refused
    figures: dict[str, object] = {
        "steps": count,
        "steps_failed": failed,
        "units_captured": captured,
        "refused": refused,
    }
    return not failed and refused > 0 and captured > 0, figures


async def _run_steps(
    network: Network, folder: Path, client: Path
) -> tuple[UptoSteps, tuple[int, list[str]]]:
    log = folder / "devnet.log"
    options = DevnetOptions(passphrase=network.passphrase, close_ms=None, log=log)
    async with await start_devnet(options, progress=say) as devnet:
        scene = await devnet.scene(payers=_ACCOUNTS, payees=1)
        chain = UptoChain(network, devnet, scene)
        await chain.deploy()
        steps = UptoSteps(chain, load_client(client))
        count, failed = await failed_steps(steps)
        for fault in failed:
            say(fault)
        program = await _program_fault(steps, client)
        return steps, (count + 1, failed + program)


async def _program_fault(steps: UptoSteps, client: Path) -> list[str]:
    """Run the page's client as a reader runs it; its entry must pass."""
    grant = await steps.grant()
    asked = json.dumps({"contract": steps.chain.contract, "grant": asdict(grant)})
    network = steps.chain.network
    secrets = {"PAYER_SECRET": steps.payer.secret, "NETWORK_PASSPHRASE": network.passphrase}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, str(client)],
        input=asked,
        env=build_environment(secrets),
        capture_output=True,
        text=True,
        timeout=_CLIENT_S,
        check=False,
    )
    if done.returncode:
        return [f"{network.label} the page's program: {done.stderr.strip()[-300:]}"]
    capture = await steps.captor.capture(grant, done.stdout.strip(), 1)
    refusal = await steps.chain.refusal(capture)
    return [f"{network.label} the page's program: {refusal[:200]}"] if refusal else []


def write_client(folder: Path) -> Path:
    """Write the page's client to a file.

    Raises:
        RunFailed: the page has none.
    """
    for snippet in read_snippets(PAGE.read_text()):
        if snippet.kind is Kind.FILE and snippet.name == CLIENT:
            path = folder / CLIENT
            path.write_text(snippet.text)
            return path
    raise RunFailed(f"{PAGE.name} has no file {CLIENT}")


def load_client(path: Path) -> SignGrant:
    """Read the client's function that signs a grant."""
    sign: SignGrant = runpy.run_path(str(path))["sign_grant"]
    return sign


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
