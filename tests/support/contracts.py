"""The contracts of `contracts/` on a ledger: wallets, and a token whose behaviour a test sets."""

import hashlib
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry

from support.accounts import entry_signed_as
from support.ledger import Ledger
from support.payments import Draft
from support.stage import NetworkStage, key_of
from testing.entries import VOID, in_bytes

FOLDER: Final = Path(__file__).parents[2] / "contracts"
FUNDS: Final = 1_000_000


class FlipAction(IntEnum):
    """The action of a flip wallet in its check once it has turned."""

    REFUSE = 0
    CLAIM = 1
    TOIL = 2


@dataclass(frozen=True, slots=True)
class SideCall:
    """A further call that a contract makes."""

    contract: str
    function: str
    arguments: tuple[xdr.SCVal, ...]

    def values(self) -> list[xdr.SCVal]:
        """Contract, function and arguments as a contract takes them."""
        name = scval.to_symbol(self.function)
        return [scval.to_address(self.contract), name, scval.to_vec(list(self.arguments))]


@dataclass(frozen=True, slots=True)
class TokenBehaviour:
    """The behaviour of a transfer of the token; the first three in hundredths of the amount."""

    taken: int = 100
    given: int = 100
    reported: int = 100
    times: int = 1
    posing_as: str | None = None
    side_call: SideCall | None = None

    def value(self) -> xdr.SCVal:
        """Return the argument of the token's `behave`."""
        shares = {
            "taken": self.taken,
            "given": self.given,
            "told": self.reported,
            "times": self.times,
        }
        name, side_call = self.posing_as, self.side_call
        return scval.to_struct(
            {
                **{share: scval.to_uint32(value) for share, value in shares.items()},
                "posing_as": scval.to_void() if name is None else scval.to_string(name),
                "errand": scval.to_void()
                if side_call is None
                else scval.to_vec(side_call.values()),
            }
        )


@dataclass(frozen=True, slots=True)
class Wallet:
    """A contract account that holds some of the scene's asset, and its key."""

    address: str
    key: Keypair = field(repr=False)

    def entry(self, draft: Draft, *, key: Keypair | None = None) -> xdr.SorobanAuthorizationEntry:
        """The payment's entry, signed as this wallet wants it; by another key if one is given."""
        entry = entry_signed_as(draft, VOID)
        own, until = in_bytes(key or self.key), draft.expires_at_ledger
        return authorize_entry(entry, own, until, draft.network.passphrase)

    def envelope(self, draft: Draft) -> xdr.TransactionEnvelope:
        """The payment's envelope with this wallet's entry."""
        return draft.envelope(self.entry(draft))


class Token:
    """A token on a ledger whose behaviour its owner sets."""

    def __init__(self, ledger: Ledger, owner: Keypair, contract: str) -> None:
        self._ledger, self._owner = ledger, owner
        self.address = contract

    async def give(self, holder: str, amount: int) -> None:
        """Mint an amount to a holder."""
        await self._invoke("mint", scval.to_address(holder), scval.to_int128(amount))

    async def behave(self, behaviour: TokenBehaviour) -> None:
        """Behave so from now on."""
        await self._invoke("behave", behaviour.value())

    async def become(self, wasm: bytes) -> None:
        """Replace the token's code."""
        wasm_hash = await self._ledger.upload(self._owner, wasm)
        await self._invoke("upgrade", scval.to_bytes(wasm_hash))

    async def _invoke(self, function: str, *args: xdr.SCVal) -> None:
        await self._ledger.invoke(self._owner, self.address, function, *args)


def wasm_of(name: str) -> bytes:
    """Read a committed contract."""
    return (FOLDER / "wasm" / f"{name}.wasm").read_bytes()


def sums() -> dict[str, str]:
    """Read the committed SHA-256 of each contract, by its file's name."""
    lines = (FOLDER / "SHA256SUMS").read_text().splitlines()
    pairs = (line.split() for line in lines if not line.startswith("#"))
    return {name.removeprefix("wasm/"): digest for digest, name in pairs}


def sha256_of(name: str) -> str:
    """Compute the SHA-256 of a committed contract."""
    return hashlib.sha256(wasm_of(name)).hexdigest()


async def wallet(stage: NetworkStage, name: str, *more: xdr.SCVal) -> Wallet:
    """Deploy a wallet of this kind with a new key; `more` are its arguments after the key."""
    ledger, key = stage.ledger, Keypair.random()
    deployer = await ledger.account()
    key_argument = scval.to_bytes(key.raw_public_key())
    made = await ledger.deploy(deployer, wasm_of(name), key_argument, *more)
    await stage.ledger.give(key_of(stage.scene.payers[2]), stage.scene.asset, made, FUNDS)
    return Wallet(made, key)


async def token(stage: NetworkStage) -> Token:
    """Deploy a token of our own that behaves honestly and has no holders."""
    owner = await stage.ledger.account()
    contract = await stage.ledger.deploy(owner, wasm_of("mannered_token"))
    return Token(stage.ledger, owner, contract)
