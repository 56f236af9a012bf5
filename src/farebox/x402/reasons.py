"""The registry of all reason codes of `/verify` and `/settle`.

Codes are upstream's where upstream has one (x402 version 2, scheme `exact` on Stellar); finer
codes exist only where the cause is proven. A code never changes its meaning.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Retry(StrEnum):
    """Whether a caller may repeat the same request."""

    NEVER = "never"  # the same request will be refused again
    LATER = "later"  # nothing was sent: the same request may be repeated
    RECONCILE = "reconcile"  # it may have been sent: repeat the same body, never a new payment


_PAYLOAD: Final = "invalid_exact_stellar_payload_"
_SETTLE: Final = "settle_exact_stellar_"


class Reason(StrEnum):
    """A machine-readable reason code."""

    INVALID_JSON = "invalid_json"
    INVALID_PAYLOAD = "invalid_payload"
    INVALID_PAYMENT_REQUIREMENTS = "invalid_payment_requirements"
    INVALID_X402_VERSION = "invalid_x402_version"
    UNSUPPORTED_SCHEME = "unsupported_scheme"
    INVALID_NETWORK = "invalid_network"
    NETWORK_MISMATCH = "network_mismatch"
    ACCEPTED_MISMATCH = "accepted_mismatch"
    FEES_NOT_SPONSORED = "invalid_exact_stellar_fees_sponsored_unsupported"
    UNSUPPORTED_ASSET = "unsupported_asset"
    MUXED_RECIPIENT = _PAYLOAD + "muxed_recipient_unsupported"
    FACILITATOR_IS_RECIPIENT = _PAYLOAD + "facilitator_is_recipient"
    PAYER_IS_RECIPIENT = _PAYLOAD + "payer_is_recipient"

    MALFORMED = _PAYLOAD + "malformed"
    WRONG_OPERATION = _PAYLOAD + "wrong_operation"
    UNSAFE_SOURCE = _PAYLOAD + "unsafe_tx_or_op_source"
    WRONG_ASSET = _PAYLOAD + "wrong_asset"
    WRONG_FUNCTION_NAME = _PAYLOAD + "wrong_function_name"
    FACILITATOR_IS_PAYER = _PAYLOAD + "facilitator_is_payer"
    WRONG_RECIPIENT = _PAYLOAD + "wrong_recipient"
    WRONG_AMOUNT = _PAYLOAD + "wrong_amount"

    NO_AUTH_ENTRIES = _PAYLOAD + "no_auth_entries"
    UNSUPPORTED_CREDENTIAL_TYPE = _PAYLOAD + "unsupported_credential_type"
    FACILITATOR_IN_AUTH = _PAYLOAD + "facilitator_in_auth"
    HAS_SUBINVOCATIONS = _PAYLOAD + "has_subinvocations"
    AUTH_NOT_FOR_TRANSFER = _PAYLOAD + "auth_not_for_transfer"
    MISSING_PAYER_SIGNATURE = _PAYLOAD + "missing_payer_signature"
    UNEXPECTED_PENDING_SIGNATURES = _PAYLOAD + "unexpected_pending_signatures"
    UNEXPECTED_AUTH_ENTRY = _PAYLOAD + "unexpected_auth_entry"
    INVALID_SIGNATURE = _PAYLOAD + "invalid_signature"
    EXPIRATION_TOO_FAR = "invalid_exact_stellar_signature_expiration_too_far"
    EXPIRED = "invalid_exact_stellar_signature_expired"
    EXPIRES_TOO_SOON = "invalid_exact_stellar_signature_expires_too_soon"

    SIMULATION_FAILED = _PAYLOAD + "simulation_failed"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    RESTORE_REQUIRED = _PAYLOAD + "restore_required"
    ENTRY_MISSING = _PAYLOAD + "entry_missing"
    FEE_EXCEEDS_MAXIMUM = _PAYLOAD + "fee_exceeds_maximum"
    EVENT_NOT_TRANSFER = _PAYLOAD + "event_not_transfer"
    EVENT_MISSING_CONTRACT_ID = _PAYLOAD + "event_missing_contract_id"
    EVENT_WRONG_ASSET = _PAYLOAD + "event_wrong_asset"
    NO_TRANSFER_EVENTS = _PAYLOAD + "no_transfer_events"
    MULTIPLE_TRANSFERS = _PAYLOAD + "multiple_transfers"
    EVENT_WRONG_FROM = _PAYLOAD + "event_wrong_from"
    EVENT_WRONG_TO = _PAYLOAD + "event_wrong_to"
    EVENT_WRONG_AMOUNT = _PAYLOAD + "event_wrong_amount"
    EVENT_MUXED_ID = _PAYLOAD + "event_muxed_id"

    NETWORK_UNAVAILABLE = "network_unavailable"
    SERVICE_UNAVAILABLE = "service_unavailable"
    SPONSOR_STOPPED = "sponsor_stopped"
    SPONSOR_BALANCE_LOW = "sponsor_balance_low"
    SPONSOR_BUDGET_EXHAUSTED = "sponsor_budget_exhausted"
    PAYER_STOPPED = "payer_stopped"
    UNEXPECTED_VERIFY_ERROR = "unexpected_verify_error"
    UNEXPECTED_SETTLE_ERROR = "unexpected_settle_error"

    INVALID_IDEMPOTENCY_KEY = "invalid_idempotency_key"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    INVALID_PAYMENT_IDENTIFIER = "invalid_payment_identifier"
    PAYMENT_IDENTIFIER_REQUIRED = "payment_identifier_required"
    PAYMENT_IDENTIFIER_REUSED = "payment_identifier_reused"

    DUPLICATE_SETTLEMENT = "duplicate_settlement"
    SETTLEMENT_PENDING = "settlement_pending"
    SUBMISSION_FAILED = _SETTLE + "transaction_submission_failed"
    TRANSACTION_FAILED = _SETTLE + "transaction_failed"
    OUTCOME_UNPROVEN = _SETTLE + "outcome_unproven"
    FOREIGN_LANDING = _SETTLE + "foreign_landing"

    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"

    UNAUTHENTICATED = "unauthenticated"
    SCOPE_MISSING = "scope_missing"
    CROSS_SITE_REQUEST = "cross_site_request"
    ACCOUNT_MISMATCH = "account_mismatch"
    TOO_MANY_REQUESTS = "too_many_requests"


# the payer can change these, and pay the same terms then, with the same payment or a new one
OF_THE_PAYER: Final = frozenset(
    {Reason.INSUFFICIENT_FUNDS, Reason.RESTORE_REQUIRED, Reason.ENTRY_MISSING}
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The sentence for a reason, and its retry class."""

    sentence: str
    retry: Retry


def _never(sentence: str) -> Explanation:
    return Explanation(sentence, Retry.NEVER)


def _later(sentence: str) -> Explanation:
    return Explanation(sentence, Retry.LATER)


def _reconcile(sentence: str) -> Explanation:
    return Explanation(sentence, Retry.RECONCILE)


REGISTRY: Final = MappingProxyType(
    {
        Reason.INVALID_JSON: _never(
            "The body is no JSON object in UTF-8, is nested too deeply, or has half of a surrogate "
            "pair in a text."
        ),
        Reason.INVALID_PAYLOAD: _never(
            "paymentPayload is missing, does not have the x402 version 2 form, the "
            "maxTimeoutSeconds of accepted is no integer from 1 to 86400, or an object of the body "
            "has a member name twice."
        ),
        Reason.INVALID_PAYMENT_REQUIREMENTS: _never(
            "paymentRequirements is missing, one of its fields is not spelled canonically, amount "
            "is not from 1 to 2^127 - 1, maxTimeoutSeconds is no integer from 1 to 86400, or a "
            "member name stands in it twice."
        ),
        Reason.INVALID_X402_VERSION: _never("Only x402 version 2 is served."),
        Reason.UNSUPPORTED_SCHEME: _never("Only the scheme exact is served."),
        Reason.INVALID_NETWORK: _never("The network is not one this service is configured for."),
        Reason.NETWORK_MISMATCH: _never(
            "The payment was made for another network than the requirements name."
        ),
        Reason.ACCEPTED_MISMATCH: _never(
            "The terms the buyer accepted are not the terms in paymentRequirements."
        ),
        Reason.FEES_NOT_SPONSORED: _never("extra.areFeesSponsored must be true."),
        Reason.UNSUPPORTED_ASSET: _never("This service does not settle the asset named."),
        Reason.MUXED_RECIPIENT: _never("Muxed addresses (M…, W…) cannot be paid; name G… or C…."),
        Reason.FACILITATOR_IS_RECIPIENT: _never("payTo is an account of the service's operator."),
        Reason.PAYER_IS_RECIPIENT: _never("Payer and payTo are the same on a network of value."),
        Reason.MALFORMED: _never("payload.transaction is not a readable transaction envelope."),
        Reason.WRONG_OPERATION: _never(
            "The transaction must hold exactly one contract invocation and nothing else."
        ),
        Reason.UNSAFE_SOURCE: _never("The transaction or its operation names an operator account."),
        Reason.WRONG_ASSET: _never("The contract called is not the asset required."),
        Reason.WRONG_FUNCTION_NAME: _never(
            "The call is not transfer(from: Address, to: Address, amount: i128)."
        ),
        Reason.FACILITATOR_IS_PAYER: _never("The payer is an account of the service's operator."),
        Reason.WRONG_RECIPIENT: _never("The transfer does not go to payTo."),
        Reason.WRONG_AMOUNT: _never("The transfer is not for exactly the amount required."),
        Reason.NO_AUTH_ENTRIES: _never("The operation carries no authorization entry."),
        Reason.UNSUPPORTED_CREDENTIAL_TYPE: _never(
            "Only address credentials, version 1 or 2, are accepted."
        ),
        Reason.FACILITATOR_IN_AUTH: _never("An operator account is asked to authorize."),
        Reason.HAS_SUBINVOCATIONS: _never("The authorization covers more than the transfer."),
        Reason.AUTH_NOT_FOR_TRANSFER: _never("The authorization is for another call."),
        Reason.MISSING_PAYER_SIGNATURE: _never("The payer has not signed the authorization."),
        Reason.UNEXPECTED_PENDING_SIGNATURES: _never("Somebody else's signature is still missing."),
        Reason.UNEXPECTED_AUTH_ENTRY: _never("Only the payer's own authorization is accepted."),
        Reason.INVALID_SIGNATURE: _never("A signature does not verify against its own key."),
        Reason.EXPIRATION_TOO_FAR: _never("The authorization outlives maxTimeoutSeconds."),
        Reason.EXPIRED: _never("The authorization has expired."),
        Reason.EXPIRES_TOO_SOON: _never("Too few ledgers remain to land the payment safely."),
        Reason.SIMULATION_FAILED: _never("The network would refuse the transfer as it stands."),
        Reason.INSUFFICIENT_FUNDS: _later("The payer holds too little of the asset."),
        Reason.RESTORE_REQUIRED: _later("A ledger entry it needs is archived; restore it first."),
        Reason.ENTRY_MISSING: _later(
            "An account, trustline or contract that it needs is not on the ledger yet."
        ),
        Reason.FEE_EXCEEDS_MAXIMUM: _never("The network fee would exceed the operator's ceiling."),
        Reason.EVENT_NOT_TRANSFER: _never("The call would move tokens by more than the transfer."),
        Reason.EVENT_MISSING_CONTRACT_ID: _never("The transfer event names no contract."),
        Reason.EVENT_WRONG_ASSET: _never("The transfer event is of another asset."),
        Reason.NO_TRANSFER_EVENTS: _never("The call would transfer nothing."),
        Reason.MULTIPLE_TRANSFERS: _never("The call would make more than one transfer."),
        Reason.EVENT_WRONG_FROM: _never("The transfer would not come from the payer."),
        Reason.EVENT_WRONG_TO: _never("The transfer would not reach payTo."),
        Reason.EVENT_WRONG_AMOUNT: _never("The transfer would move another amount."),
        Reason.EVENT_MUXED_ID: _never("The transfer carries a mux id that was not asked for."),
        Reason.NETWORK_UNAVAILABLE: _later(
            "The network cannot be reached or read now; nothing was sent."
        ),
        Reason.SERVICE_UNAVAILABLE: _later(
            "The service cannot act now; this request sent nothing."
        ),
        Reason.SPONSOR_STOPPED: _later(
            "The operator pays no fees on this network for now; nothing was sent."
        ),
        Reason.SPONSOR_BALANCE_LOW: _later(
            "The account that pays the network fees holds too little; nothing was sent."
        ),
        Reason.SPONSOR_BUDGET_EXHAUSTED: _later(
            "A budget for network fees is used up until the next day (UTC); nothing was sent."
        ),
        Reason.PAYER_STOPPED: _later(
            "Failed payments of this payer today (UTC), with those under way, may cost too much; "
            "nothing was sent."
        ),
        Reason.UNEXPECTED_VERIFY_ERROR: _later("An unexpected fault; nothing was sent."),
        Reason.UNEXPECTED_SETTLE_ERROR: _reconcile(
            "An unexpected fault; repeat the same body to learn the outcome."
        ),
        Reason.INVALID_IDEMPOTENCY_KEY: _never(
            "Idempotency-Key must be one header of 1 to 255 visible ASCII characters."
        ),
        Reason.IDEMPOTENCY_KEY_REUSED: _never(
            "This Idempotency-Key belongs to another request; use a new one for each payment."
        ),
        Reason.INVALID_PAYMENT_IDENTIFIER: _never(
            "The payment-identifier extension must hold info.required, a boolean, and an id of "
            "16 to 128 letters, digits, hyphens and underscores."
        ),
        Reason.PAYMENT_IDENTIFIER_REQUIRED: _never(
            "The seller requires a payment identifier and the buyer gave none."
        ),
        Reason.PAYMENT_IDENTIFIER_REUSED: _never(
            "The payer used this payment identifier for another payment."
        ),
        Reason.DUPLICATE_SETTLEMENT: _never(
            "This payment was settled before, and its one success was already given."
        ),
        Reason.SETTLEMENT_PENDING: _reconcile(
            "The transaction may have been sent and its outcome is not known yet; "
            "repeat the same body."
        ),
        Reason.SUBMISSION_FAILED: _later(
            "The network did not take the transaction; it cannot land any more."
        ),
        Reason.TRANSACTION_FAILED: _never(
            "The transaction did not transfer the payment: it failed on the ledger, or can no "
            "longer land."
        ),
        Reason.OUTCOME_UNPROVEN: _never(
            "Whether the transaction landed can no longer be shown; the operator must look."
        ),
        Reason.FOREIGN_LANDING: _never(
            "A transaction of another party used the authorization and moved the payment; "
            "the hash is that transaction's."
        ),
        Reason.BODY_TOO_LARGE: _never("The body is larger than 256 KB."),
        Reason.UNSUPPORTED_MEDIA_TYPE: _never("The body must be JSON without content encoding."),
        Reason.METHOD_NOT_ALLOWED: _never("The route takes POST."),
        Reason.REQUEST_TIMEOUT: _later("The body did not arrive in time."),
        Reason.UNAUTHENTICATED: _never(
            "The network is served to callers with a valid key alone, or the key shown is not "
            "valid (Authorization: Bearer …). What an earlier request has sent goes on."
        ),
        Reason.SCOPE_MISSING: _never("The key does not carry the scope facilitator."),
        Reason.CROSS_SITE_REQUEST: _never(
            "A session cookie came without proof that our own page sent the request."
        ),
        Reason.ACCOUNT_MISMATCH: _never(
            "The page made the request for another account than the session cookie's."
        ),
        Reason.TOO_MANY_REQUESTS: _later(
            "Too many requests within a minute; this one sent nothing. Repeat it after Retry-After."
        ),
    }
)


def explain(reason: Reason) -> Explanation:
    """The sentence and retry class of a reason."""
    return REGISTRY[reason]
