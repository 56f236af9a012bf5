"""The answers of the facilitator's routes, as x402 version 2 spells them.

An optional member that is unknown is left out, never null: stock clients refuse a null.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from farebox.facilitator.settlement import Settlement, SettlementState
from farebox.facilitator.settling.outcome import (
    NotAdmitted,
    NothingSent,
    NotSettled,
    Pending,
    Settled,
    SettleOutcome,
)
from farebox.facilitator.verification.verdict import Accepted, Rejected, Verdict
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.x402.discovery import EXTENSION as BAZAAR
from farebox.x402.payment_identifier import EXTENSION as PAYMENT_IDENTIFIER
from farebox.x402.reasons import REGISTRY, Reason, explain
from farebox.x402.wire import SCHEME, X402_VERSION, Unacceptable

Body = dict[str, object]
TOKEN_UNVERIFIED: Final = {"warnings": ["token_unverified"]}


def verify_body(verdict: Verdict | Unacceptable) -> Body:
    """The answer of `/verify`."""
    match verdict:
        case Accepted(token_is_verified=verified):
            body: Body = {"isValid": True, "payer": verdict.payer}
            return body if verified else body | {"extra": TOKEN_UNVERIFIED}
        case Rejected(reason, payer):
            return invalid_body(reason, payer)
        case Unacceptable(reason):
            return invalid_body(reason)
        case _:
            assert_never(verdict)


def invalid_body(reason: Reason, payer: Address | None = None) -> Body:
    """A failing verdict."""
    body: Body = {
        "isValid": False,
        "invalidReason": reason.value,
        "invalidMessage": explain(reason).sentence,
    }
    return body | {"payer": payer} if payer is not None else body


def settle_body(outcome: SettleOutcome) -> Body:
    """The answer of `/settle`; a `Settled` is a success only once it is owned."""
    match outcome:
        case Settled(identity, _, tx_hash, token_is_verified=verified):
            body: Body = {
                "success": True,
                "transaction": tx_hash,
                "network": identity.network.value,
                "payer": identity.payer,
            }
            return body if verified else body | {"extra": TOKEN_UNVERIFIED}
        case NotSettled(reason, network, payer, tx_hash):
            return unsettled_body(reason, network.value, payer, tx_hash)
        case Pending(network, payer, tx_hash):
            return unsettled_body(Reason.SETTLEMENT_PENDING, network.value, payer, tx_hash)
        case _:
            assert_never(outcome)


def nothing_sent_body(nothing: NothingSent) -> Body:
    """The answer when the service could not act."""
    return unsettled_body(Reason.SERVICE_UNAVAILABLE, nothing.network.value, nothing.payer)


def not_admitted_body(refused: NotAdmitted) -> Body:
    """The answer to a request whose name belongs to another one."""
    return unsettled_body(refused.reason, refused.network.value, refused.payer)


def unsettled_body(
    reason: Reason, network: str, payer: Address | None = None, tx_hash: str = ""
) -> Body:
    """A failing settlement; `transaction` and `network` are always there."""
    body: Body = {
        "success": False,
        "errorReason": reason.value,
        "errorMessage": explain(reason).sentence,
        "transaction": tx_hash,
        "network": network,
    }
    return body | {"payer": payer} if payer is not None else body


def settlement_body(settlement: Settlement, tx_hash: str) -> Body:
    """What became of a settlement, as anyone who knows its hash may ask."""
    body: Body = {
        "transaction": tx_hash,
        "network": settlement.identity.network.value,
        "status": _STATUS[settlement.state],
        "payer": settlement.identity.payer,
        "payTo": settlement.pay_to,
        "asset": settlement.asset,
        "amount": str(settlement.amount),
    }
    if settlement.landed_hash is not None:
        body |= {"landedAs": settlement.landed_hash.hex()}
    return body | {"reason": settlement.reason.value} if settlement.reason else body


_STATUS: Final = {
    SettlementState.CLAIMED: "pending",
    SettlementState.SENDING: "pending",
    SettlementState.SUBMITTED: "pending",
    SettlementState.CONFIRMED: "confirmed",
    SettlementState.FAILED: "failed",
    SettlementState.DEAD: "failed",
    SettlementState.UNPROVEN: "unproven",
}


def supported_body(networks: list[Network], signers: list[Address]) -> Body:
    """The answer of `/supported`: every configured network, also while its node is away."""
    return {
        "kinds": [
            {
                "x402Version": X402_VERSION,
                "scheme": SCHEME,
                "network": network.value,
                "extra": {"areFeesSponsored": True},
            }
            for network in networks
        ],
        "extensions": [BAZAAR, PAYMENT_IDENTIFIER],
        "signers": {"stellar:*": signers},
    }


def errors_body(listing: Mapping[str, str]) -> Body:
    """The registries of codes: those of payments, and `listing` with those of their listing."""
    return {
        "errors": [
            {"code": reason.value, "message": meaning.sentence, "retry": meaning.retry.value}
            for reason, meaning in REGISTRY.items()
        ],
        "listing": [{"code": code, "message": sentence} for code, sentence in listing.items()],
    }
