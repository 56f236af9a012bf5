"""Pay for a request: request, read the price, approve, sign, repeat with the payment, once."""

from collections.abc import Mapping
from typing import Protocol

from farebox.buyer.authorization import (
    Authorization,
    AuthorizationRefused,
    CredentialForm,
    authorize,
)
from farebox.buyer.choose import BuyerPreferences, NoSuitableOption, choose
from farebox.buyer.offer import Offer, Option, UnreadableOffer, printable, read_offer
from farebox.buyer.outcome import NothingToPay, Outcome, Undecided, Unpaid, judge_response
from farebox.buyer.seller_client import (
    SellerClient,
    SellerRequest,
    SellerResponse,
    SellerUnavailable,
)
from farebox.buyer.wallet import Wallet
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.x402.headers import encode_header
from farebox.x402.payload import build_payload


class PaymentApprover(Protocol):
    """Approves payments."""

    async def approve(self, offer: Offer, option: Option) -> bool:
        """Whether to pay this price; called before anything is signed."""
        ...

    def on_signed(self, option: Option, authorization: Authorization) -> None:
        """Called between signing and sending."""
        ...


class Buyer:
    """Pays for requests from one wallet, each at most once."""

    def __init__(
        self,
        wallet: Wallet,
        client: SellerClient,
        networks: Mapping[Network, SorobanRpc],
        *,
        form: CredentialForm = CredentialForm.ADDRESS,
    ) -> None:
        self._wallet, self._client, self._networks, self._form = wallet, client, networks, form

    async def pay(
        self, request: SellerRequest, preferences: BuyerPreferences, approver: PaymentApprover
    ) -> Outcome:
        """Send the request, and pay for it once when the seller requires a payment.

        A lost response to the paid request is `Undecided`; nothing is repeated or paid again.
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
            authorization = await self._sign(option)
        except (AuthorizationRefused, Outage) as error:
            return Unpaid(error.message)
        approver.on_signed(option, authorization)
        return await self._present(request, offer, option, authorization)

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

    async def _sign(self, option: Option) -> Authorization:
        network = self._networks[option.terms.network]
        return await authorize(option.terms, self._wallet, network, form=self._form)

    async def _present(
        self, request: SellerRequest, offer: Offer, option: Option, authorization: Authorization
    ) -> Outcome:
        payment = Secret(encode_header(payment_payload(offer, option, authorization)))
        try:
            response = await self._client.send(request, payment)
        except SellerUnavailable as error:
            if error.certainly_not_sent:
                return Unpaid(error.message)
            return Undecided(printable(error.message), "", authorization)
        return judge_response(response, option, authorization)


def payment_payload(
    offer: Offer, option: Option, authorization: Authorization
) -> dict[str, object]:
    """The payload of `PAYMENT-SIGNATURE`, which echoes the seller's terms and extensions."""
    return build_payload(
        option.raw, authorization.envelope, resource=offer.resource, extensions=offer.extensions
    )
