"""E2E=wallet: wallets made of public SDKs sign in to the real service, on both networks.

PyPI stellar-sdk and npm @stellar/stellar-sdk find the service by its `stellar.toml` and sign in
with accounts of one key, of several keys, not yet on the ledger (SEP-10), and with a contract
account (SEP-45) by the contract that `farebox auth deploy` deployed. Sign-ins that must fail are
tried too: removed signers, a master key without weight, strangers, replayed challenges.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair

from e2e.facilitator import FOLDER
from e2e.wallet_accounts import AccountFactory, Login
from e2e.wallet_clients import (
    Answer,
    SignInTarget,
    fetch_toml,
    sign_in_with_npm,
    sign_in_with_pypi,
)
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from testing.commands import run_farebox
from testing.machine import (
    ServedNetwork,
    our_service,
    say,
    scratch_folder,
    subfolder,
)
from testing.packages import changed_packages, install
from testing.report import run_and_report, timed

UNMODIFIED: Final = ("@stellar/stellar-sdk",)
CLOSE_MS: Final = 1000
REFUSED: Final = 401
_ROUNDS: Final = 3
_FUNDED: Final = 5  # accounts of a round that are on the ledger


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target; return whether all sign-ins end as expected, and the figures."""
    await asyncio.to_thread(install, FOLDER)
    faults: list[str] = []
    tried = expected_sign_ins = 0
    with scratch_folder("farebox-e2e-") as scratch:
        folder = subfolder(scratch, "wallet")
        async with _open_service(folder) as (service, networks, settings):
            account_factories = [AccountFactory(each.network, each.devnet) for each in networks]
            targets = [
                _build_target(service, each.network, settings, account_factory)
                for each, account_factory in zip(networks, account_factories, strict=True)
            ]
            faults += await asyncio.to_thread(_find_toml_faults, service, targets)
            for _ in range(1 if quick else _ROUNDS):
                for served, target, account_factory in zip(
                    networks, targets, account_factories, strict=True
                ):
                    mismatches, logins = await _round(served, target, account_factory)
                    faults += mismatches
                    tried += 2 * len(logins)
                    expected_sign_ins += 2 * sum(each.must_succeed for each in logins)
        changed = await asyncio.to_thread(changed_packages, FOLDER, UNMODIFIED, scratch)
    figures: dict[str, object] = {
        "sign_ins": expected_sign_ins,
        "refusals": tried - expected_sign_ins,
        "faults": faults,
        "packages_changed": [f"{each.package}: {each.difference}" for each in changed],
    }
    return not (faults or changed), figures


@contextlib.asynccontextmanager
async def _open_service(
    folder: Path,
) -> AsyncIterator[tuple[str, list[ServedNetwork], dict[str, str]]]:
    """Start two devnets with the web-auth contract, and the service; yield its URL and settings."""
    async with contextlib.AsyncExitStack() as stack:
        say("starting two devnets (a ledger a second)")
        networks = [await _network(network, folder, stack) for network in Network]
        settings = {
            "FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret,
            "FAREBOX_CHALLENGES_PER_MINUTE": "0",
            "FAREBOX_SEARCH_SEMANTIC": "off",
        }
        say("deploying the web-auth contract on both: farebox auth deploy")
        deployed = [await _deploy(each, settings, folder) for each in networks]
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


async def _deploy(served: ServedNetwork, settings: dict[str, str], folder: Path) -> dict[str, str]:
    """Deploy the web-auth contract; return the setting that the command prints."""
    own = {**settings, **served.settings(), "FAREBOX_DATA_DIR": str(folder)}
    printed = await run_farebox(("auth", "deploy", "--network", served.network.label), own)
    return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)


def _build_target(
    service: str, network: Network, settings: dict[str, str], account_factory: AccountFactory
) -> SignInTarget:
    signer = Keypair.from_secret(settings["FAREBOX_AUTH_SIGNING_SECRET"])
    return SignInTarget(
        network=network,
        service=service,
        endpoint=f"{service}/v1/auth/{network.label}",
        signing_key=signer.public_key,
        contract=settings[f"FAREBOX_WEB_AUTH_CONTRACT_{network.label.upper()}"],
        latest_ledger=account_factory.latest_ledger,
    )


def _find_toml_faults(service: str, targets: Sequence[SignInTarget]) -> list[str]:
    """Find wrong values in `stellar.toml`, which describes one network."""
    toml = fetch_toml(service)
    target = next(each for each in targets if each.network.passphrase == toml["NETWORK_PASSPHRASE"])
    expected = {
        "SIGNING_KEY": target.signing_key,
        "WEB_AUTH_ENDPOINT": target.endpoint,
        "WEB_AUTH_FOR_CONTRACTS_ENDPOINT": target.endpoint,
        "WEB_AUTH_CONTRACT_ID": target.contract,
    }
    return [
        f"stellar.toml: {name} is {toml.get(name)}"
        for name, value in expected.items()
        if toml.get(name) != value
    ]


async def _round(
    served: ServedNetwork, target: SignInTarget, account_factory: AccountFactory
) -> tuple[list[str], list[Login]]:
    """Sign in with new accounts; return the mismatches and the attempts."""
    scene = await served.devnet.scene(payers=_FUNDED, payees=0)
    funded = iter([Keypair.from_secret(each.secret.reveal()) for each in scene.payers])
    logins = await asyncio.to_thread(account_factory.logins, partial(next, funded))
    say(f"{target.network.value}: {len(logins)} accounts and keys, each with two SDKs")
    mismatches = []
    for client, sign_in in (
        ("PyPI stellar-sdk", sign_in_with_pypi),
        ("npm @stellar/stellar-sdk", sign_in_with_npm),
    ):
        answers = await asyncio.to_thread(sign_in, target, logins)
        for login, answer in zip(logins, answers, strict=True):
            wrong = find_fault(login, answer)
            if wrong:
                mismatches.append(f"{client}, {target.network.value}, {login.kind}, {wrong}")
                say(mismatches[-1])
    return mismatches, logins


def find_fault(login: Login, answer: Answer) -> str | None:
    """Compare an answer with the expected one; None when it matches."""
    if answer.fault:
        return f"{login.name}: {answer.fault}"
    if not login.must_succeed:
        is_right = (answer.status, answer.code) == (REFUSED, "signature_refused")
        return None if is_right else f"{login.name} is answered {answer.status} {answer.code}"
    if answer.status != 200:
        return f"{login.name} is refused: {answer.status} {answer.code}"
    if answer.address != login.account:
        return f"{login.name} is taken for {answer.address}"
    if answer.replayed != REFUSED:
        return f"{login.name}: its replayed challenge is answered {answer.replayed} the second time"
    return None


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
