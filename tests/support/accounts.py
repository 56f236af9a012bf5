"""Payers that are multisig or contract accounts, set up once and used by many tests."""

from dataclasses import dataclass, field
from typing import Final

from stellar_sdk import Asset, Keypair, Signer, TransactionBuilder, scval, xdr

from support.payments import Draft
from support.stage import NetworkStage, key_of
from testing.contract_calls import address, invocation
from testing.entries import unsigned_entry

_FUNDS: Final = 10_000_000_000


@dataclass(frozen=True, slots=True)
class Multisig:
    """An account whose master key has weight 0 and that needs both of its signers."""

    address: str
    master: Keypair = field(repr=False)
    signers: tuple[Keypair, Keypair] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ContractAccount:
    """A contract that holds tokens and has a `__check_auth` of its own."""

    address: str


class ContractToken:
    """A token of our own, held by contracts: only they can carry more than 64 bits of it."""

    def __init__(self, stage: NetworkStage, issuer: Keypair, asset: str, wasm: bytes) -> None:
        self._stage, self._wasm = stage, wasm
        self.issuer, self.asset = issuer, asset

    async def pair(self, amount: int) -> tuple[str, str]:
        """A contract account that holds exactly `amount`, and another that holds nothing."""
        ledger = self._stage.ledger
        deployer = await ledger.account()
        rich = await ledger.deploy(deployer, self._wasm)
        poor = await ledger.deploy(await ledger.account(), self._wasm)
        holder, units = scval.to_address(rich), scval.to_int128(amount)
        await ledger.invoke(self.issuer, self.asset, "mint", holder, units)
        return rich, poor


def entry_signed_as(draft: Draft, signature: xdr.SCVal) -> xdr.SorobanAuthorizationEntry:
    """The payer's entry with exactly this signature, as a contract account's has."""
    return unsigned_entry(
        invocation(draft.call()),
        address(draft.payer),
        nonce=draft.nonce,
        expires_at_ledger=draft.expires_at_ledger,
        kind=draft.kind,
        signature=signature,
    )


async def own_token(stage: NetworkStage, wasm: bytes) -> ContractToken:
    """A token issued by an account of ours, with its asset contract deployed."""
    issuer = await stage.ledger.account()
    asset = Asset("WEALTH", issuer.public_key)
    return ContractToken(stage, issuer, await stage.ledger.deploy_asset(asset, issuer), wasm)


async def multisig_account(stage: NetworkStage) -> Multisig:
    """A funded account of two signers."""
    ledger, scene = stage.ledger, stage.scene
    master = await ledger.account()
    signers = (Keypair.random(), Keypair.random())

    def trust_and_share(builder: TransactionBuilder) -> None:
        builder.append_change_trust_op(Asset(scene.code, scene.issuer))
        for key in signers:
            builder.append_set_options_op(signer=Signer.ed25519_public_key(key.public_key, 1))
        builder.append_set_options_op(
            master_weight=0, low_threshold=2, med_threshold=2, high_threshold=2
        )

    await ledger.submit(master, trust_and_share)
    await _give(stage, master.public_key)
    return Multisig(master.public_key, master, signers)


async def contract_account(stage: NetworkStage, wasm: bytes) -> ContractAccount:
    """A contract of this code, holding some of the scene's asset and some native coin."""
    ledger = stage.ledger
    address = await ledger.deploy(await ledger.account(), wasm)
    await _give(stage, address)
    giver = await ledger.account()
    native = Asset.native().contract_id(ledger.network.passphrase)
    await ledger.give(giver, native, address, 1_000_000)
    return ContractAccount(address)


async def _give(stage: NetworkStage, address: str) -> None:
    giver = key_of(stage.scene.payers[1])
    await stage.ledger.give(giver, stage.scene.asset, address, _FUNDS)
