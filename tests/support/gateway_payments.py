"""Payments at the gateway for tests: wrappers in the database, and reservations for them."""

import secrets
from typing import Any

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.payment_store import NewPayment
from farebox.gateway.payment import BuyerRequest
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.payments import fresh_nonce
from support.vault import new_owner
from support.wrappers import OTHER_PAY_TO, wrapper_fields, wrappers_of


async def enabled_wrapper(database: Database, **members: Any) -> Wrapper:
    """Create a wrapper and enable it."""
    wrappers, caller = wrappers_of(database), new_owner()
    created = await wrappers.create(caller, "r", wrapper_fields(**members))
    return await wrappers.enable(caller, "r", created.id)


def new_payment(wrapper: Wrapper, *, body: bytes = b"") -> NewPayment:
    """A payment that the gateway has not seen, for a request to the wrapper."""
    return NewPayment(
        identity=PaymentIdentity(Network.TESTNET, Address(OTHER_PAY_TO), fresh_nonce()),
        wrapper=wrapper,
        term=wrapper.settings.terms[0],
        request=BuyerRequest(wrapper.slug, "GET", "/", None, body.ljust(32)),
        request_digest=secrets.token_bytes(32),
    )
