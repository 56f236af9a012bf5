"""E2E=wallet: wallets made of public SDKs sign in to the real service, on both networks.

PyPI stellar-sdk and npm @stellar/stellar-sdk find the service by its `stellar.toml` and sign in
with accounts of one key, of several keys, not yet on the ledger (SEP-10), and with a contract
account (SEP-45) by the contract that `farebox auth deploy` put there. Whoever must not get in is
tried too: removed signers, a master key without weight, strangers, each challenge a second time.
"""

import asyncio
import contextlib
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair

from e2e.ending import end_with_figures
from e2e.facilitator import FOLDER
from e2e.machine import (
    FAREBOX,
    ROOT,
    RunFailed,
    ServedNetwork,
    environment,
    our_service,
    say,
    scratch_folder,
    subfolder,
)
from e2e.packages import changed_packages, install
from e2e.wallet_accounts import Holder, Login
from e2e.wallet_clients import (
    Answer,
    Place,
    sign_in_with_npm,
    sign_in_with_pypi,
    toml_of,
)
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet

UNMODIFIED: Final = ("@stellar/stellar-sdk",)
CLOSE_MS: Final = 1000
REFUSED: Final = 401
_DEPLOY_S: Final = 120
_ROUNDS: Final = 3
_FUNDED: Final = 5  # accounts of a round that are on the ledger


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether exactly those get in who should, and the figures; short it is one round of three."""
    began = time.monotonic()
    await asyncio.to_thread(install, FOLDER)
    faults: list[str] = []
    tried = welcome = 0
    with scratch_folder("farebox-e2e-") as scratch:
        folder = subfolder(scratch, "wallet")
        async with _running(folder) as (service, networks, settings):
            holders = [Holder(each.network, each.devnet) for each in networks]
            places = [
                _place(service, each.network, settings, holder)
                for each, holder in zip(networks, holders, strict=True)
            ]
            faults += await asyncio.to_thread(_toml_faults, service, places)
            for _ in range(1 if quick else _ROUNDS):
                for served, place, holder in zip(networks, places, holders, strict=True):
                    found, logins = await _round(served, place, holder)
                    faults += found
                    tried += 2 * len(logins)
                    welcome += 2 * sum(each.is_welcome for each in logins)
        changed = await asyncio.to_thread(changed_packages, FOLDER, UNMODIFIED, scratch)
    figures: dict[str, object] = {
        "sign_ins": welcome,
        "refusals": tried - welcome,
        "faults": faults,
        "packages_changed": [f"{each.package}: {each.why}" for each in changed],
        "seconds": round(time.monotonic() - began, 1),
    }
    return not (faults or changed), figures


@contextlib.asynccontextmanager
async def _running(
    folder: Path,
) -> AsyncIterator[tuple[str, list[ServedNetwork], dict[str, str]]]:
    """Two devnets with the web-auth contract on them, and the service; its URL and settings."""
    async with contextlib.AsyncExitStack() as stack:
        say("starting two devnets (a ledger a second)")
        networks = [await _network(network, folder, stack) for network in Network]
        settings = {
            "FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret,
            "FAREBOX_CHALLENGES_PER_MINUTE": "0",
            "FAREBOX_SEARCH_SEMANTIC": "off",
        }
        say("putting the web-auth contract on both: farebox auth deploy")
        deployed = [await asyncio.to_thread(_deploy, each, settings, folder) for each in networks]
        for contract in deployed:
            settings |= contract
        say("starting PostgreSQL and the facilitator")
        service = await stack.enter_async_context(
            our_service(networks, folder=folder, settings=settings)
        )
        yield service, networks, settings


async def _network(
    network: Network, folder: Path, stack: contextlib.AsyncExitStack
) -> ServedNetwork:
    log = folder / f"devnet-{network.label}.log"
    options = DevnetOptions(passphrase=network.passphrase, close_ms=CLOSE_MS, log=log)
    devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
    scene = await devnet.scene(payers=1, payees=0)
    return ServedNetwork(network, devnet, scene.payers[0].secret)


def _deploy(served: ServedNetwork, settings: dict[str, str], folder: Path) -> dict[str, str]:
    """The setting that the command prints."""
    done = subprocess.run(
        [*FAREBOX, "auth", "deploy", "--network", served.network.label],
        cwd=ROOT,
        env=environment({**settings, **served.settings(), "FAREBOX_DATA_DIR": str(folder)}),
        capture_output=True,
        text=True,
        timeout=_DEPLOY_S,
        check=False,
    )
    name, _, contract = done.stdout.strip().partition("=")
    if done.returncode or not contract:
        raise RunFailed(f"farebox auth deploy failed:\n{done.stderr.strip()[-800:]}")
    return {name: contract}


def _place(service: str, network: Network, settings: dict[str, str], holder: Holder) -> Place:
    signer = Keypair.from_secret(settings["FAREBOX_AUTH_SIGNING_SECRET"])
    return Place(
        network=network,
        service=service,
        endpoint=f"{service}/v1/auth/{network.label}",
        signing_key=signer.public_key,
        contract=settings[f"FAREBOX_WEB_AUTH_CONTRACT_{network.label.upper()}"],
        latest_ledger=holder.latest_ledger,
    )


def _toml_faults(service: str, places: Sequence[Place]) -> list[str]:
    """What `stellar.toml`, which has room for one network, says otherwise than it is."""
    toml = toml_of(service)
    place = next(each for each in places if each.network.passphrase == toml["NETWORK_PASSPHRASE"])
    expected = {
        "SIGNING_KEY": place.signing_key,
        "WEB_AUTH_ENDPOINT": place.endpoint,
        "WEB_AUTH_FOR_CONTRACTS_ENDPOINT": place.endpoint,
        "WEB_AUTH_CONTRACT_ID": place.contract,
    }
    return [
        f"stellar.toml: {name} is {toml.get(name)}"
        for name, value in expected.items()
        if toml.get(name) != value
    ]


async def _round(
    served: ServedNetwork, place: Place, holder: Holder
) -> tuple[list[str], list[Login]]:
    """What went otherwise than it must with accounts made for this round."""
    scene = await served.devnet.scene(payers=_FUNDED, payees=0)
    funded = iter([Keypair.from_secret(each.secret.reveal()) for each in scene.payers])
    logins = await asyncio.to_thread(holder.logins, partial(next, funded))
    say(f"{place.network.value}: {len(logins)} accounts and keys, each with two SDKs")
    found = []
    for client, sign_in in (
        ("PyPI stellar-sdk", sign_in_with_pypi),
        ("npm @stellar/stellar-sdk", sign_in_with_npm),
    ):
        answers = await asyncio.to_thread(sign_in, place, logins)
        for login, answer in zip(logins, answers, strict=True):
            wrong = fault_of(login, answer)
            if wrong:
                found.append(f"{client}, {place.network.value}, {login.kind}, {wrong}")
                say(found[-1])
    return found, logins


def fault_of(login: Login, answer: Answer) -> str | None:
    """What went otherwise than it must; None when all is as it should be."""
    if answer.fault:
        return f"{login.name}: {answer.fault}"
    if not login.is_welcome:
        is_right = (answer.status, answer.code) == (REFUSED, "signature_refused")
        return None if is_right else f"{login.name} is answered {answer.status} {answer.code}"
    if answer.status != 200:
        return f"{login.name} is refused: {answer.status} {answer.code}"
    if answer.address != login.account:
        return f"{login.name} is taken for {answer.address}"
    if answer.replayed != REFUSED:
        return f"{login.name}: its challenge is answered {answer.replayed} the second time"
    return None


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
