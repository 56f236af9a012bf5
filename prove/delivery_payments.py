"""Payments of hostile cases: two with one nonce, one in two envelopes, one landed elsewhere."""

import base64
import contextlib
import json
import random
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Account, InvokeHostFunction, Keypair, TransactionBuilder, xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.memo import NoneMemo, TextMemo

from farebox.buyer.authorization import CredentialForm, unsigned_entry
from farebox.kernel.addresses import ZERO_ACCOUNT, Address
from farebox.kernel.amounts import BaseUnits
from farebox.local.devnet import Party
from farebox.local.faults import LocalFault
from farebox.stellar.entry_writer import draw_nonce
from farebox.x402.payment import PaymentTerms
from prove.ask_node import land_operation, read_newest
from prove.environment import AMOUNT, Environment, payload_of
from prove.world import NETWORK

LIFE_LEDGERS: Final = 700  # ledgers close fast, and no authorization may expire
_TIMEOUT_S: Final = 3600
_HIDDEN_CHARS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_MEMOS: Final = ("", "a", "another text")


@dataclass(frozen=True, slots=True)
class ShopPayment:
    """A signed transfer as one buyer presents it: its identity, terms and header."""

    owner: str  # the actor that signed it
    payer: str
    nonce: int
    terms: PaymentTerms
    entry: xdr.SorobanAuthorizationEntry
    header: str  # the value of PAYMENT-SIGNATURE

    @property
    def settle_body(self) -> bytes:
        """The body of a request to /settle, as everybody can build it from the ledger."""
        payload = json.loads(base64.b64decode(self.header))
        payload.pop("extensions", None)
        requirements = payload["accepted"]
        return json.dumps(
            {"x402Version": 2, "paymentPayload": payload, "paymentRequirements": requirements}
        ).encode()

    @property
    def identity(self) -> tuple[str, int]:
        """Payer and nonce."""
        return self.payer, self.nonce

    @property
    def operation(self) -> InvokeHostFunction:
        """The call, with the signed entry."""
        return operation_of(self.entry)

    @property
    def buys(self) -> tuple[str, int, str]:
        """The transfer: payer, amount and recipient."""
        return self.payer, self.terms.amount, self.terms.pay_to


def operation_of(entry: xdr.SorobanAuthorizationEntry) -> InvokeHostFunction:
    """Return the operation that makes the call of a signed entry."""
    function = xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT,
        invoke_contract=entry.root_invocation.function.contract_fn,
    )
    return InvokeHostFunction(function, auth=[entry])


class PaymentMaker:
    """Signs payments of a case, by its payers, for its seller."""

    def __init__(self, environment: Environment, rng: random.Random) -> None:
        self._environment, self._rng = environment, rng
        self._scene = environment.world.prepared.scene
        self._next_payer = 0

    @property
    def seller(self) -> Address:
        """The recipient of the wrapper's terms."""
        return self._scene.payees[0].address

    def take_payer(self) -> Party:
        """Return the next payer; the last one is never among them."""
        payers = self._scene.payers[:-1]
        self._next_payer += 1
        return payers[self._next_payer % len(payers)]

    @property
    def stranger(self) -> Keypair:
        """An account on the ledger that is neither a buyer of the case nor the operator."""
        return Keypair.from_secret(self._scene.payers[-1].secret.reveal())

    async def sign(
        self,
        owner: str,
        *,
        payer: Party | None = None,
        amount: BaseUnits = AMOUNT,
        pay_to: Address | None = None,
        nonce: int | None = None,
        has_identifier: bool = True,
    ) -> ShopPayment:
        """Sign a payment; without more it is what the wrapper asks for."""
        payer = payer or self.take_payer()
        terms = PaymentTerms(NETWORK, self._scene.asset, amount, pay_to or self.seller, _TIMEOUT_S)
        number = draw_nonce() if nonce is None else nonce
        unsigned = unsigned_entry(
            terms, payer=payer.address, nonce=number, form=CredentialForm.ADDRESS
        )
        latest, _ = await read_newest(self._environment)
        key = Keypair.from_secret(payer.secret.reveal())
        entry = authorize_entry(unsigned, key, latest + LIFE_LEDGERS, NETWORK.passphrase)
        identifier = self._identifier() if has_identifier else None
        header = header_of(terms, write_envelope(entry), identifier)
        return ShopPayment(owner, payer.address, number, terms, entry, header)

    def rewrap(self, payment: ShopPayment, owner: str) -> ShopPayment:
        """Put the authorization, as the ledger shows it, into an envelope of other bytes."""
        rng = self._rng
        envelope = write_envelope(
            payment.entry,
            source=Keypair.random().public_key,
            sequence=rng.randrange(1, 2**40),
            fee=rng.randrange(100, 10_000),
            memo=rng.choice(_MEMOS),
        )
        identifier = self._identifier() if rng.random() < 0.5 else None
        header = header_of(payment.terms, envelope, identifier)
        return ShopPayment(
            payment.owner, payment.payer, payment.nonce, payment.terms, payment.entry, header
        )

    async def land_elsewhere(self, payment: ShopPayment) -> None:
        """Land the authorization in a stranger's transaction, unless it is refused by now."""
        with contextlib.suppress(LocalFault):
            await land_operation(self._environment, payment.operation, self.stranger)

    def _identifier(self) -> str:
        return "pay_" + "".join(self._rng.choice(_HIDDEN_CHARS) for _ in range(24))


def write_envelope(
    entry: xdr.SorobanAuthorizationEntry,
    *,
    source: str | None = None,
    sequence: int = 0,
    fee: int = 100,
    memo: str = "",
) -> str:
    """Write the unsigned envelope of a signed entry, in base64."""
    account = Account(source or ZERO_ACCOUNT, sequence)
    builder = TransactionBuilder(account, NETWORK.passphrase, fee)
    builder.append_operation(operation_of(entry)).add_time_bounds(0, 0)
    builder.add_memo(TextMemo(memo) if memo else NoneMemo())
    return builder.build().to_xdr()


def header_of(terms: PaymentTerms, envelope: str, identifier: str | None) -> str:
    """Return the value of `PAYMENT-SIGNATURE`."""
    named = {"payment-identifier": {"info": {"required": False, "id": identifier}}}
    extra = {} if identifier is None else {"extensions": named}
    return base64.b64encode(json.dumps(payload_of(terms, envelope, extra)).encode()).decode()
