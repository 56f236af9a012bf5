"""The parties of `upto` on one devnet, and what they grant, sign, cancel and void."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Final

from stellar_sdk import Keypair, scval
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from e2e.upto_captor import Captor, Grant, grant_value
from e2e.upto_chain import UptoChain

MOST: Final = 5_000
LIFE: Final = 40  # ledgers of a grant
WINDOW_S: Final = 600
SignGrant = Callable[[str, dict[str, object], str, str], str]


class StepFailed(Exception):
    """A step ended otherwise than it must."""


@dataclass(slots=True)
class UptoParties:
    """A payer, a captor, a payee and a stranger on one network; `sign` is the page's client."""

    chain: UptoChain
    sign: SignGrant
    captured: int = 0
    refused: int = 0
    payer: Keypair = field(init=False)
    captor: Captor = field(init=False)
    stranger: Captor = field(init=False)

    def __post_init__(self) -> None:
        """Take the parties of the scene; the first two accounts only send."""
        keys = [Keypair.from_secret(each.secret.reveal()) for each in self.chain.scene.payers]
        self.payer = keys[2]
        self.captor, self.stranger = Captor(self.chain, keys[3]), Captor(self.chain, keys[4])

    async def grant(self) -> Grant:
        """New terms that are valid now."""
        now, ledger = await self.chain.now(), await self.chain.ledger()
        scene = self.chain.scene
        return Grant(
            asset=scene.asset,
            captor=self.captor.key.public_key,
            expiration_ledger=ledger + LIFE,
            max_amount=MOST,
            not_after=now + WINDOW_S,
            not_before=now - 1,
            pay_to=scene.payees[0].address,
            payer=self.payer.public_key,
        )

    def signed(self, grant: Grant) -> str:
        """The payer's entry, made by the page's client."""
        chain = self.chain
        passphrase = chain.network.passphrase
        return self.sign(chain.contract, asdict(grant), self.payer.secret, passphrase)

    async def signed_grant(self) -> tuple[Grant, str]:
        """New terms, and the payer's entry for them."""
        grant = await self.grant()
        return grant, self.signed(grant)

    async def ends(self, grant: Grant, *status: object) -> None:
        """Hold the status of a grant against the one that it must have."""
        expect("status", await self.captor.status(grant), list(status))

    def sign_later(self, grant: Grant, until: int) -> str:
        """A new signature of an old grant, which itself has not expired."""
        return self.captor.resigned(self.signed(grant), self.payer, until)

    async def holdings(self) -> tuple[int, int]:
        """What the payer and the payee hold."""
        scene = self.chain.scene
        payee = scene.payees[0].address
        return (
            await self.chain.balance(scene.asset, self.payer.public_key),
            await self.chain.balance(scene.asset, payee),
        )

    async def cancelled(self, grant: Grant, key: Keypair) -> Operation:
        """A cancel in the payer's name, signed by a key."""
        signer = Captor(self.chain, key)
        return await signer.signed_call(grant.payer, "cancel", grant_value(grant))

    async def voided(self, grant: Grant, signer: Captor) -> Operation:
        """A void in the captor's name, signed by a key."""
        parties = [scval.to_address(grant.payer), scval.to_address(grant.captor)]
        nonce = scval.to_bytes(bytes.fromhex(grant.nonce))
        return await signer.signed_call(grant.captor, "void", *parties, nonce)

    async def landed(self, operation: Operation) -> None:
        """Include a call that must succeed."""
        status = (await self.chain.land(operation)).status
        expect("outcome", status, GetTransactionStatus.SUCCESS)

    async def refuses(self, operation: Operation, reason: str) -> None:
        """A call that the host must refuse for this reason."""
        refusal = await self.chain.refusal(operation)
        first = refusal.partition("\n")[0]
        if reason not in first:
            raise StepFailed(f"expected {reason}, found {first or 'no refusal'}")
        self.refused += 1


def expect(what: str, found: object, wanted: object) -> None:
    """Hold a value against the one that it must be.

    Raises:
        StepFailed: it is another one.
    """
    if found != wanted:
        raise StepFailed(f"{what}: found {found!r}, expected {wanted!r}")
