"""Pay for a request: request, read the price, approve, sign, repeat with the payment, once."""

from collections.abc import Mapping
from typing import Final, Protocol

from farebox.buyer.authorization import (
    Authorization,
    AuthorizationRefused,
    CredentialForm,
    authorize,
)
from farebox.buyer.choose import BuyerPreferences, NoSuitableOption, choose
from farebox.buyer.offer import Offer, Option, UnreadableOffer, printable, read_offer
from farebox.buyer.outcome import (
    NothingToPay,
    Outcome,
    Paid,
    PaymentRefused,
    Undecided,
    Unpaid,
    judge_payment,
)
from farebox.buyer.seller_client import (
    SellerClient,
    SellerRequest,
    SellerResponse,
    SellerUnavailable,
)
from farebox.buyer.signed_payment import PaymentFileRefused, SignedPayment
from farebox.buyer.wallet import Wallet
from farebox.kernel.clock import Clock, SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import (
    AuthorizationUse,
    AuthorizedTransfer,
    TransferOpen,
    find_use,
)
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.x402.headers import encode_header
from farebox.x402.payload import build_payload

MAX_LIFE_S: Final = 300  # of a signature, unless the buyer says otherwise
WAIT_S: Final = 10.0  # for the ledger to show a payment's outcome: two ledgers
_POLL_S: Final = 1.0


class PaymentApprover(Protocol):
    """Approves payments."""

    async def approve(self, offer: Offer, option: Option) -> bool:
        """Whether to pay this price; called before anything is signed."""
        ...

    def on_signed(self, payment: SignedPayment) -> None:
        """Called between signing and sending.

        Raises:
            PaymentFileRefused: the payment cannot be kept, and must not be sent.
        """
        ...


class LedgerLooker:
    """Looks on the ledger for the outcome of a payment, and waits `wait_s` seconds for it."""

    def __init__(self, node: SorobanRpc, clock: Clock, *, wait_s: float) -> None:
        self._node, self._clock, self._wait_s = node, clock, wait_s

    async def conclude(
        self, payment: SignedPayment, response: SellerResponse | None = None, fault: str = ""
    ) -> Paid | PaymentRefused | Undecided:
        """Judge a payment that may have been sent; `response` is the seller's, where one came."""
        return judge_payment(payment, await self._watch(payment), response, fault)

    async def _watch(self, payment: SignedPayment) -> AuthorizationUse | None:
        """Look until the outcome is known or the time is over; None: the node gave no answer."""
        until = self._clock.monotonic() + self._wait_s
        while True:
            use = await self._look(payment)
            is_known = use is not None and not isinstance(use, TransferOpen)
            if is_known or self._clock.monotonic() >= until:
                return use
            await self._clock.sleep(_POLL_S)

    async def _look(self, payment: SignedPayment) -> AuthorizationUse | None:
        try:
            return await find_use(
                self._node, payment.transfer, first_ledger=payment.signed_in_ledger
            )
        except RpcUnavailable:
            return None


class Buyer:
    """Pays for requests from one wallet, each at most once.

    A signature lives `max_life_s` seconds at most, and never longer than the seller allows.
    """

    def __init__(
        self,
        wallet: Wallet,
        client: SellerClient,
        networks: Mapping[Network, SorobanRpc],
        *,
        form: CredentialForm = CredentialForm.ADDRESS,
        max_life_s: int = MAX_LIFE_S,
        wait_s: float = WAIT_S,
        clock: Clock | None = None,
    ) -> None:
        self._wallet, self._client, self._networks, self._form = wallet, client, networks, form
        self._max_life_s, self._wait_s = max_life_s, wait_s
        self._clock = clock or SystemClock()

    async def pay(
        self, request: SellerRequest, preferences: BuyerPreferences, approver: PaymentApprover
    ) -> Outcome:
        """Send the request, and pay for it once when the seller requires a payment.

        Nothing is repeated or paid again; the ledger decides whether it was paid.
        """
        try:
            response = await self._client.send(request)
        except SellerUnavailable as error:
            return Unpaid(error.message)
        if response.status != 402:
            return NothingToPay(response)
        choice = self._choose(response, preferences)
        if isinstance(choice, Unpaid):
            return choice
        offer, option = choice
        if not await approver.approve(offer, option):
            return Unpaid("You declined the price; nothing was signed.")
        try:
            payment = await self._sign(request, offer, option)
            approver.on_signed(payment)
        except (AuthorizationRefused, Outage, PaymentFileRefused) as error:
            return Unpaid(error.message)
        return await self._present(payment)

    def _choose(
        self, response: SellerResponse, preferences: BuyerPreferences
    ) -> tuple[Offer, Option] | Unpaid:
        offer = read_offer(response.payment_required)
        if isinstance(offer, UnreadableOffer):
            return Unpaid(f"The seller's price cannot be read: {offer.reason}.")
        option = choose(offer, preferences)
        if isinstance(option, NoSuitableOption):
            return Unpaid(option.sentence())
        return offer, option

    async def _sign(self, request: SellerRequest, offer: Offer, option: Option) -> SignedPayment:
        terms = option.terms
        signed = await authorize(
            terms,
            self._wallet,
            self._networks[terms.network],
            form=self._form,
            max_life_s=self._max_life_s,
        )
        transfer = AuthorizedTransfer(
            terms.network,
            terms.asset,
            terms.amount,
            terms.pay_to,
            payer=self._wallet.address,
            nonce=signed.nonce,
            expires_at_ledger=signed.expires_at_ledger,
        )
        header = Secret(encode_header(payment_payload(offer, option, signed)))
        return SignedPayment(request, header, transfer, signed.signed_in_ledger)

    async def _present(self, payment: SignedPayment) -> Outcome:
        response, fault = None, ""
        try:
            response = await self._client.send(payment.request, payment.header)
        except SellerUnavailable as error:
            if error.certainly_not_sent:
                return Unpaid(error.message)
            fault = printable(error.message)
        node = self._networks[payment.network]
        looker = LedgerLooker(node, self._clock, wait_s=self._wait_s)
        return await looker.conclude(payment, response, fault)


async def repeat_payment(
    client: SellerClient, payment: SignedPayment, looker: LedgerLooker
) -> Outcome:
    """Send a payment that was sent before, with the very same bytes: it is never charged twice."""
    try:
        response = await client.send(payment.request, payment.header)
    except SellerUnavailable as error:
        return await looker.conclude(payment, None, printable(error.message))
    return await looker.conclude(payment, response)


def payment_payload(
    offer: Offer, option: Option, authorization: Authorization
) -> dict[str, object]:
    """The payload of `PAYMENT-SIGNATURE`, which echoes the seller's terms and extensions."""
    return build_payload(
        option.raw, authorization.envelope, resource=offer.resource, extensions=offer.extensions
    )
