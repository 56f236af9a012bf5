"""What the API schema says of the facilitator's routes."""

from typing import Final

from farebox.kernel.networks import Network
from farebox.web.operation import (
    Operation,
    Parameter,
    Place,
    Reply,
    Schema,
    identifier,
    items,
    one_of,
    record,
    text,
)
from farebox.x402.headers import EXTENSION_RESPONSES
from farebox.x402.reasons import Reason, Retry

_TAG: Final = "facilitator"
_STRING: Final[Schema] = {"type": "string"}
_OBJECT: Final[Schema] = {"type": "object"}
_REASON: Final = one_of(*(reason.value for reason in Reason))
_NETWORK: Final = one_of(*(network.value for network in Network))
_EXTRA: Final = record({"warnings": items(_STRING)})
_PAYER: Final[Schema] = {"type": "string", "description": "The G… or C… address that pays."}
_HASH: Final[Schema] = {
    "type": "string",
    "pattern": "^([0-9a-f]{64})?$",
    "description": "The transaction's hash; empty when nothing was sent.",
}

WRAPPER: Final[Schema] = {
    "type": "object",
    "properties": {
        "x402Version": {"const": 2},
        "paymentPayload": {**_OBJECT, "description": "As in the PAYMENT-SIGNATURE header."},
        "paymentRequirements": {
            "type": "object",
            "properties": {
                "scheme": {"const": "exact"},
                "network": _NETWORK,
                "asset": {"type": "string", "pattern": "^C[A-Z2-7]{55}$"},
                "amount": {"type": "string", "pattern": "^[1-9][0-9]*$"},
                "payTo": {"type": "string", "pattern": "^[GC][A-Z2-7]{55}$"},
                "maxTimeoutSeconds": {"type": "integer", "minimum": 1},
                "extra": {
                    "type": "object",
                    "properties": {"areFeesSponsored": {"const": True}},
                    "required": ["areFeesSponsored"],
                },
            },
            "required": ["scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds"],
        },
    },
    "required": ["paymentPayload", "paymentRequirements"],
}
_VALID: Final = record({"isValid": {"const": True}, "payer": _PAYER}, extra=_EXTRA)
INVALID: Final = record(
    {"isValid": {"const": False}, "invalidReason": _REASON, "invalidMessage": _STRING},
    payer=_PAYER,
)
_SETTLED: Final = record(
    {
        "success": {"const": True},
        "transaction": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "network": _NETWORK,
        "payer": _PAYER,
    },
    extra=_EXTRA,
)
UNSETTLED: Final = record(
    {
        "success": {"const": False},
        "errorReason": _REASON,
        "errorMessage": _STRING,
        "transaction": _HASH,
        "network": {"type": "string", "description": "As it was sent; empty when it was not."},
    },
    payer=_PAYER,
)
_SUPPORTED: Final = record(
    {
        "kinds": items(
            record(
                {
                    "x402Version": {"const": 2},
                    "scheme": {"const": "exact"},
                    "network": _NETWORK,
                    "extra": record({"areFeesSponsored": {"const": True}}),
                }
            )
        ),
        "extensions": items(_STRING),
        "signers": {"type": "object", "additionalProperties": items(_STRING)},
    }
)
_SETTLEMENT: Final = record(
    {
        "transaction": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "network": _NETWORK,
        "status": one_of("pending", "confirmed", "failed", "unproven"),
        "payer": _PAYER,
        "payTo": _STRING,
        "asset": _STRING,
        "amount": {"type": "string", "pattern": "^[0-9]+$"},
    },
    landedAs={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    reason=_STRING,
)
_EXPLAINED: Final = {"code": _STRING, "message": _STRING}
_ERRORS: Final = record(
    {
        "errors": items(record({**_EXPLAINED, "retry": one_of(*(each.value for each in Retry))})),
        "listing": items(record(_EXPLAINED)),
    }
)
_KEY: Final = Parameter(
    "Idempotency-Key",
    "A name for the request: its final answer is kept and given again.",
    text(longest=255, pattern="^[!-~]+$"),
    Place.HEADER,
)
_LISTED: Final = Parameter(
    EXTENSION_RESPONSES, "What became of the listing: base64 of JSON.", _STRING, Place.HEADER
)

OPERATIONS: Final = (
    Operation(
        "POST",
        "/verify",
        _TAG,
        "Judge a payment; nothing moves.",
        {200: Reply("The verdict.", {"oneOf": [_VALID, INVALID]})},
        request=WRAPPER,
        failure=INVALID,
    ),
    Operation(
        "POST",
        "/settle",
        _TAG,
        "Settle a payment, once.",
        {
            200: Reply("What became of it.", {"oneOf": [_SETTLED, UNSETTLED]}, headers=(_LISTED,)),
        },
        request=WRAPPER,
        parameters=(_KEY,),
        refused=(409,),
        failure=UNSETTLED,
    ),
    Operation(
        "GET",
        "/supported",
        _TAG,
        "Networks, extensions and accounts of the service.",
        {200: Reply("What is supported.", _SUPPORTED)},
    ),
    Operation(
        "GET",
        "/v1/settlements/{transaction}",
        _TAG,
        "What became of a settlement.",
        {200: Reply("The settlement.", _SETTLEMENT)},
        parameters=(identifier("The transaction's hash.", name="transaction"),),
        refused=(404,),
    ),
    Operation(
        "GET",
        "/v1/errors",
        _TAG,
        "Every reason code with a sentence and what to do next.",
        {200: Reply("The registries.", _ERRORS)},
    ),
)
