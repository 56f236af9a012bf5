"""Pay for a request: ask, see the price, agree, sign, ask again with the payment, once."""

from collections.abc import Mapping
from typing import Protocol

from farebox.buyer.authorization import (
    Authorization,
    AuthorizationRefused,
    CredentialForm,
    Node,
    authorize,
)
from farebox.buyer.choose import NothingSuitable, Wishes, choose
from farebox.buyer.offer import VERSION, Offer, Option, UnreadableOffer, printable, read_offer
from farebox.buyer.outcome import NothingToPay, Outcome, Undecided, Unpaid, judge_answer
from farebox.buyer.wallet import Wallet
from farebox.buyer.web import SellerAway, Web, WebAnswer, WebRequest
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.x402.headers import encode_header


class Purse(Protocol):
    """Whose money it is: sees each step, and agrees to the price or does not."""

    async def agrees(self, offer: Offer, option: Option) -> bool:
        """Whether to pay this price; called before anything is signed."""
        ...

    def signed(self, option: Option, authorization: Authorization) -> None:
        """Told between signing and sending."""
        ...


class Buyer:
    """Pays sellers from one wallet, each request at most once."""

    def __init__(
        self,
        wallet: Wallet,
        web: Web,
        networks: Mapping[Network, Node],
        *,
        form: CredentialForm = CredentialForm.ADDRESS,
    ) -> None:
        self._wallet, self._web, self._networks, self._form = wallet, web, networks, form

    async def pay(self, request: WebRequest, wishes: Wishes, purse: Purse) -> Outcome:
        """Request, and when it costs money, pay for it once.

        A lost answer to the paid request is `Undecided`: it is never repeated, and never
        replaced by a fresh payment.
        """
        try:
            answer = await self._web.send(request)
        except SellerAway as error:
            return Unpaid(error.message)
        if answer.status != 402:
            return NothingToPay(answer)
        chosen = self._choose(answer, wishes)
        if isinstance(chosen, Unpaid):
            return chosen
        offer, option = chosen
        if not await purse.agrees(offer, option):
            return Unpaid("You declined the price; nothing was signed.")
        try:
            authorization = await self._sign(option)
        except (AuthorizationRefused, Outage) as error:
            return Unpaid(error.message)
        purse.signed(option, authorization)
        return await self._present(request, offer, option, authorization)

    def _choose(self, answer: WebAnswer, wishes: Wishes) -> tuple[Offer, Option] | Unpaid:
        offer = read_offer(answer.payment_required)
        if isinstance(offer, UnreadableOffer):
            return Unpaid(f"The seller's price cannot be read: {offer.why}.")
        option = choose(offer, wishes)
        if isinstance(option, NothingSuitable):
            return Unpaid(option.sentence())
        return offer, option

    async def _sign(self, option: Option) -> Authorization:
        network = self._networks[option.terms.network]
        return await authorize(option.terms, self._wallet, network, form=self._form)

    async def _present(
        self, request: WebRequest, offer: Offer, option: Option, authorization: Authorization
    ) -> Outcome:
        payment = Secret(encode_header(payment_payload(offer, option, authorization)))
        try:
            answer = await self._web.send(request, payment)
        except SellerAway as error:
            if error.certainly_not_sent:
                return Unpaid(error.message)
            return Undecided(printable(error.message), "", authorization)
        return judge_answer(answer, option, authorization)


def payment_payload(
    offer: Offer, option: Option, authorization: Authorization
) -> dict[str, object]:
    """The body of `PAYMENT-SIGNATURE`: the seller's own terms and extensions echoed verbatim."""
    payload: dict[str, object] = {
        "x402Version": VERSION,
        "accepted": option.raw,
        "payload": {"transaction": authorization.envelope.reveal()},
    }
    if offer.resource is not None:
        payload["resource"] = offer.resource
    if offer.extensions is not None:
        payload["extensions"] = offer.extensions
    return payload
