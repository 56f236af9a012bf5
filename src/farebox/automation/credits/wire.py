"""The JSON of payments for runs, of quotes and of credits."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.automation.credits.run_payment import RunPayment
from farebox.automation.plan_body import ProposalBody, RunPaymentBody
from farebox.kernel.networks import Network
from farebox.x402.headers import encode_header
from farebox.x402.reasons import Reason, explain

Runs = Annotated[int, Meta(ge=1, le=1_000_000, description="How many runs to pay for.")]


class PayForRunsRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Without `runs`, all runs of the plan are paid for; the rest may be topped up later."""

    runs: Runs | UnsetType = UNSET


class TopUpRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """More runs of a plan that is paid."""

    runs: Runs


class RunPaymentResultBody(msgspec.Struct, frozen=True, rename="camel"):
    """The plan after a payment, and the payment."""

    proposal: ProposalBody
    payment: RunPaymentBody


class RunCreditBody(msgspec.Struct, frozen=True, rename="camel"):
    """An amount on a network that no plan holds, in base units; the next plan there uses it."""

    network: Network
    asset: str
    amount: str


class RunCreditListBody(msgspec.Struct, frozen=True, rename="camel"):
    """The credits of an owner, one for each network and asset with any."""

    items: list[RunCreditBody]


def run_payment_body(payment: RunPayment) -> RunPaymentBody:
    """Render a payment for runs."""
    return RunPaymentBody(
        id=payment.id,
        runs=payment.quote.runs,
        amount=str(payment.quote.total),
        asset=payment.quote.asset,
        pay_to=payment.pay_to,
        state=payment.state.value,
        transaction=payment.tx_hash or None,
        payment_identifier=payment.identifier,
        is_top_up=payment.is_top_up,
        created_at=payment.created_at,
    )


def run_receipt(payment: RunPayment, *, is_success: bool) -> str:
    """The text of `PAYMENT-RESPONSE`: the same for every repeat of the same payment."""
    identity = payment.identity
    receipt: dict[str, object] = {
        "success": is_success,
        "transaction": payment.tx_hash,
        "network": payment.network.value,
    }
    if identity is not None:
        receipt["payer"] = identity.payer
    if not is_success:
        reason = Reason(payment.failure) if payment.failure else Reason.SETTLEMENT_PENDING
        receipt |= {"errorReason": reason.value, "errorMessage": explain(reason).sentence}
    return encode_header(receipt)
