"""BENCH=structure: the size of the code, and the modules that one request enters.

Lines are those of `src/farebox` that are not empty; search and semantic are counted separately. The
modules of a request are the distinct ones that its own context enters in a running service.
"""

import asyncio
import collections
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import aiohttp
from stellar_sdk import Keypair, SorobanServer

from bench.payloads import Terms, signed_transfer, verify_body
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.local.gateway_settings import operator_setting
from farebox.vault.master_keys import new_master_key
from testing.machine import (
    ROOT,
    RunFailed,
    ServedNetwork,
    our_service,
    say,
    scratch_folder,
    wait_until,
)
from testing.report import run_and_report, timed

SOURCES: Final = ROOT / "src" / "farebox"
SEPARATE: Final = ("search", "semantic")
SETTLE_MODULES_AIM: Final = 60
_PROGRAM: Final = (sys.executable, "-m", "bench.structure_trace")
_CLASS: Final = re.compile(r"^class (\w+)", re.MULTILINE)
_KEY: Final = "operator-key-of-the-structure-bench"
_LIFE_LEDGERS: Final = 12
_POLL_S: Final = 0.05
_TRACED_S: Final = 10.0


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether every class name is unique, and the figures."""
    del quick  # the run has no short form
    files = sorted(SOURCES.rglob("*.py"))
    duplicates = duplicate_class_names(files)
    modules_by_request = await _trace_requests()
    figures: dict[str, object] = {
        "lines_src": _lines(path for path in files if not _is_separate(path)),
        **{f"lines_{name}": _lines((SOURCES / name).rglob("*.py")) for name in SEPARATE},
        "modules": len(files),
        "duplicate_class_names": len(duplicates),
        "duplicates": duplicates,
        **{f"modules_{name}": len(modules) for name, modules in modules_by_request.items()},
        "settle_modules_aim": SETTLE_MODULES_AIM,
        "entered": modules_by_request,
    }
    return not duplicates, figures


def duplicate_class_names(files: Iterable[Path]) -> list[str]:
    """Find the names of classes that more than one module defines, sorted."""
    names = (name for path in files for name in _CLASS.findall(path.read_text()))
    return sorted(name for name, count in collections.Counter(names).items() if count > 1)


def _is_separate(path: Path) -> bool:
    return path.relative_to(SOURCES).parts[0] in SEPARATE


def _lines(files: Iterable[Path]) -> int:
    return sum(bool(line.strip()) for path in files for line in path.read_text().splitlines())


async def _trace_requests() -> dict[str, list[str]]:
    """Trace the modules that one verification, one settlement and one stored secret enter."""
    with scratch_folder("farebox-bench-") as scratch:
        options = DevnetOptions(
            passphrase=Network.TESTNET.passphrase, close_ms=1000, log=scratch / "devnet.log"
        )
        async with await start_devnet(options, progress=say) as devnet:
            scene = await devnet.scene(payers=2, payees=1)
            served = ServedNetwork(Network.TESTNET, devnet, scene.payers[1].secret)
            settings = {
                **operator_setting(_KEY),
                "FAREBOX_MASTER_KEYS": new_master_key(None).reveal(),
            }
            async with our_service(
                [served], folder=scratch, program=_PROGRAM, settings=settings
            ) as url:
                payment = await asyncio.to_thread(_payment, devnet, scene)
                secret = b'{"name": "upstream", "value": "a credential"}'
                async with aiohttp.ClientSession(url) as web:
                    await _request(web, "/verify", payment, None)  # fills caches
                    return {
                        "verify": await _request(web, "/verify", payment, scratch),
                        "settle": await _request(web, "/settle", payment, scratch),
                        "secret": await _request(web, "/v1/vault/secrets", secret, scratch),
                    }


def _payment(devnet: Devnet, scene: Scene) -> bytes:
    """Build the body of a signed payment for `/verify` and `/settle`."""
    with SorobanServer(devnet.rpc_url) as server:
        expires = server.get_latest_ledger().sequence + _LIFE_LEDGERS
        terms = Terms(scene.asset, scene.payees[0].address, 10_000, 60)
        payer = Keypair.from_secret(scene.payers[0].secret.reveal())
        return verify_body(signed_transfer(server, payer, terms, expires_at_ledger=expires), terms)


async def _request(
    web: aiohttp.ClientSession, path: str, body: bytes, folder: Path | None
) -> list[str]:
    headers = {"authorization": f"Bearer {_KEY}", "content-type": "application/json"}
    trace_file = None if folder is None else folder / f"entered-{path.rpartition('/')[2]}"
    if trace_file is not None:
        headers["x-trace-file"] = str(trace_file)
    async with web.post(path, data=body, headers=headers) as answer:
        text = await answer.text()
    is_well = (
        answer.status < 300 and '"success":false' not in text and '"isValid":false' not in text
    )
    if not is_well:
        raise RunFailed(f"{path} answered {answer.status}: {text[:300]}")
    if trace_file is None:
        return []
    what = f"the modules of {path}"  # their file is written after the request
    await wait_until(trace_file.exists, what, within_s=_TRACED_S, pause_s=_POLL_S)
    paths = trace_file.read_text().splitlines()
    return [str(Path(each).relative_to(SOURCES).with_suffix("")) for each in paths]


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
