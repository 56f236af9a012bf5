"""Contract accounts sign in through the web-auth contract on the real host."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import pytest
from stellar_sdk import Keypair, SorobanServer, scval
from stellar_sdk.sep.stellar_soroban_web_authentication import (
    read_challenge_authorization_entries,
    verify_challenge_authorization_entries,
)

from farebox.accounts.contract_web_auth import ContractWebAuth
from farebox.accounts.web_auth_scheme import (
    ContractSignInUnavailable,
    IssuedChallenge,
    SignatureRefused,
)
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.rpc_http import HttpSorobanRpc
from support.contracts import FlipAction, SideCall, Wallet, wallet
from support.promises import case
from support.stage import NetworkStage, key_of
from support.wasm import careless_web_auth, endless_account
from support.web_auth import HOME, WEB_AUTH, WebAuth, sign_challenge, web_auth

NETWORK: Final = Network.TESTNET


@dataclass(frozen=True, slots=True)
class Door:
    """Signing in on one network, over a real node."""

    login: ContractWebAuth
    web_auth: WebAuth
    ledgers: LedgerClock

    async def issue(self, account: str) -> IssuedChallenge:
        """A challenge as of the newest ledger."""
        await self.ledgers.poll()
        return await self.login.issue(_contract(account))

    async def prove(self, signed: str) -> str:
        """The account that signed; a Refusal says why it has not."""
        await self.ledgers.poll()
        shown = self.login.read(signed)
        await shown.verify()
        return shown.address

    async def enter(self, who: Wallet, key: Keypair | None = None) -> str:
        """What a wallet does: ask, sign, show."""
        issued = await self.issue(who.address)
        signed = sign_challenge(issued.document, who.address, key or who.key, NETWORK)
        return await self.prove(signed)


@pytest.fixture(scope="module")
async def door(testnet: NetworkStage) -> AsyncIterator[Door]:
    """The web-auth contract deployed, and signing in by it."""
    async with _rpc(testnet) as rpc:
        yield _door(rpc, await web_auth(testnet.ledger))


def _rpc(testnet: NetworkStage) -> HttpSorobanRpc:
    return HttpSorobanRpc(NETWORK, Secret(testnet.ledger.rpc_url))


def _door(rpc: HttpSorobanRpc, laid: WebAuth) -> Door:
    clock = SystemClock()
    ledgers = LedgerClock(NETWORK, rpc, clock)
    login = ContractWebAuth(laid.domain(), laid.ground(NETWORK), rpc, ledgers, clock)
    return Door(login, laid, ledgers)


def _contract(text: str) -> Address:
    address = parse_contract(text)
    assert address is not None
    return address


@case("AU-012")
async def test_contract_account_signs_in_with_its_keys_signature(door: Door, smart: Wallet) -> None:
    assert await door.enter(smart) == smart.address


async def test_wallet_chooses_the_expiry_of_its_signature(
    door: Door, testnet: NetworkStage, smart: Wallet
) -> None:
    issued = await door.issue(smart.address)
    until = await testnet.ledger.latest() + 500
    signed = sign_challenge(issued.document, smart.address, smart.key, NETWORK, until=until)
    assert await door.prove(signed) == smart.address


@case("AU-012")
async def test_sign_in_fails_with_another_key_or_without_a_signature(
    door: Door, smart: Wallet
) -> None:
    with pytest.raises(SignatureRefused):
        await door.enter(smart, Keypair.random())
    issued = await door.issue(smart.address)
    with pytest.raises(SignatureRefused):
        await door.prove(issued.document)


@case("AU-012")
async def test_sign_in_fails_for_a_contract_that_is_no_account(
    door: Door, testnet: NetworkStage
) -> None:
    asset = Wallet(testnet.scene.asset, Keypair.random())
    absent = Wallet("C" + "A" * 51 + "D2KM", Keypair.random())
    for each in (asset, absent):
        with pytest.raises(SignatureRefused):
            await door.enter(each)


@case("AU-009")
async def test_sign_in_fails_for_the_web_auth_contract_itself(door: Door) -> None:
    with pytest.raises(Refusal) as refused:
        await door.issue(door.web_auth.contract)
    assert refused.value.code == "account_not_allowed"


@case("AU-012")
async def test_sign_in_fails_for_a_wallet_over_the_resource_limit(
    door: Door, testnet: NetworkStage
) -> None:
    deployer = await testnet.ledger.account()
    endless = Wallet(await testnet.ledger.deploy(deployer, endless_account()), Keypair.random())
    with pytest.raises(SignatureRefused):
        await door.enter(endless)


async def test_calls_and_events_of_a_wallet_during_its_check_have_no_effect(
    door: Door, testnet: NetworkStage
) -> None:
    claiming = await wallet(
        testnet, "flip_wallet", scval.to_uint32(0), scval.to_uint32(FlipAction.CLAIM)
    )
    assert await door.enter(claiming) == claiming.address
    calling_wallet = await wallet(testnet, "errand_wallet")
    payee = testnet.scene.payees[0].address
    parties = (scval.to_address(calling_wallet.address), scval.to_address(payee))
    theft = SideCall(testnet.scene.asset, "transfer", (*parties, scval.to_int128(5)))
    teller = key_of(testnet.scene.payers[2])
    await testnet.ledger.invoke(teller, calling_wallet.address, "send", *theft.values())
    before = await testnet.ledger.balance(testnet.scene.asset, calling_wallet.address)
    assert await door.enter(calling_wallet) == calling_wallet.address
    assert await testnet.ledger.balance(testnet.scene.asset, calling_wallet.address) == before


async def test_the_public_sdk_reads_and_verifies_our_challenge(
    door: Door, testnet: NetworkStage, smart: Wallet
) -> None:
    issued = await door.issue(smart.address)
    server = door.web_auth.signer.public_key
    read = read_challenge_authorization_entries(
        issued.document, server, HOME, WEB_AUTH, door.web_auth.contract
    )
    assert (read.client_account_id, read.client_domain) == (smart.address, None)
    signed = sign_challenge(issued.document, smart.address, smart.key, NETWORK)
    verified = verify_challenge_authorization_entries(
        SorobanServer(testnet.ledger.rpc_url),
        *(signed, server, HOME, WEB_AUTH, door.web_auth.contract, NETWORK.passphrase),
    )
    assert verified.nonce == read.nonce


@case("AU-012")
async def test_sign_in_fails_with_a_web_auth_contract_that_requires_no_authorization(
    testnet: NetworkStage, smart: Wallet
) -> None:
    """The setting names another contract: a successful call alone is no proof."""
    async with _rpc(testnet) as rpc:
        careless = _door(rpc, await web_auth(testnet.ledger, careless_web_auth()))
        with pytest.raises(ContractSignInUnavailable):
            await careless.enter(smart, Keypair.random())


async def test_challenge_is_unavailable_until_contract_and_signing_account_exist(
    testnet: NetworkStage, door: Door, smart: Wallet
) -> None:
    nowhere = WebAuth(door.web_auth.contract, Keypair.random())
    async with _rpc(testnet) as rpc:
        for laid in (nowhere, WebAuth("C" + "A" * 51 + "D2KM", door.web_auth.signer)):
            with pytest.raises(ContractSignInUnavailable):
                await _door(rpc, laid).issue(smart.address)
