"""`farebox auth`, and the sign-in of a contract account with the contract that it deploys."""

import asyncio
from pathlib import Path
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.buyer.wallet import create_wallet
from farebox.kernel.networks import Network
from support.command import Ran, run_farebox
from support.contracts import wallet
from support.stage import Stage, own_relayer, service
from support.wallet_sign_in import request_challenge
from support.web_auth import sign_challenge

SETTING: Final = "FAREBOX_WEB_AUTH_CONTRACT_TESTNET"


@pytest.fixture
async def alone(stage: Stage) -> Stage:
    """A stage whose testnet relayer and signing account are new; the latter is not there yet."""
    signing = {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}
    environment = stage.environment | await own_relayer(stage) | signing
    return Stage(stage.client, stage.networks, environment)


async def deploy(stage: Stage, *more: str) -> Ran:
    """The command has ended; the nodes it asks live in this process."""
    arguments = ("auth", "deploy", "--network", "testnet", *more)
    return await asyncio.to_thread(run_farebox, *arguments, settings=stage.environment)


def _sent(stage: Stage) -> int:
    return stage.node().counts()["sendTransaction"]


async def test_deployed_contract_lets_contract_account_sign_in(alone: Stage) -> None:
    made = await deploy(alone)
    assert made.code == 0, made.err
    name, _, contract = made.out.strip().partition("=")
    assert name == SETTING
    sent = _sent(alone)
    assert sent in (2, 3), "contract and signing account, and the code if it was not on the ledger"
    again = await deploy(alone)
    assert (again.code, again.out) == (0, made.out)
    assert "nothing to do" in again.err
    assert _sent(alone) == sent, "nothing is done twice"

    smart = await wallet(alone.networks[Network.TESTNET], "smart_wallet")
    async with service(alone.environment | {SETTING: contract}) as client:
        challenge = await request_challenge(client, smart.address)
        document = challenge["authorizationEntriesXdr"]
        signed = sign_challenge(document, smart.address, smart.key, Network.TESTNET)
        request = {"network": Network.TESTNET.value, "authorizationEntriesXdr": signed}
        answer = await client.post("/v1/auth/verify", request)
    assert answer.status == 200, answer.body
    signer = Keypair.from_secret(alone.environment["FAREBOX_AUTH_SIGNING_SECRET"])
    assert await alone.ledger().native_balance(signer.public_key) == 0, "its reserve is sponsored"


async def test_auth_deploy_accepts_other_payer_and_later_signing_account(
    alone: Stage, tmp_path: Path
) -> None:
    path = tmp_path / "wallet.json"
    payer = create_wallet(path)
    await alone.ledger().fund(payer.address)
    alone.environment["FAREBOX_AUTH_SIGNING_SECRET"] = ""
    relayer = Keypair.from_secret(alone.environment["FAREBOX_RELAYER_SECRET_TESTNET"]).public_key
    before = await alone.ledger().native_balance(relayer)
    made = await deploy(alone, "--source", str(path))
    assert made.code == 0, made.err
    assert "set FAREBOX_AUTH_SIGNING_SECRET and repeat" in made.err
    assert await alone.ledger().native_balance(relayer) == before
