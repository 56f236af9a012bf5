"""The parts that `/verify` and `/settle` share: access, request body, and refused bodies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.types import Scope

from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.networks import Network
from farebox.web.endpoint import RouteDeclaration
from farebox.web.error_responses import Failure
from farebox.web.guard import Access, optional_caller_of, require_access
from farebox.x402.reasons import Reason, explain
from farebox.x402.wire import MAX_TIMEOUT_S, Unacceptable

_REASONS: Final[Mapping[str, Reason]] = {reason.value: reason for reason in Reason}
_BAD_REQUESTS: Final = frozenset(
    (
        Reason.INVALID_JSON,
        Reason.INVALID_IDEMPOTENCY_KEY,
        Reason.INVALID_PAYMENT_IDENTIFIER,
        Reason.PAYMENT_IDENTIFIER_REQUIRED,
    )
)
PayerText = Annotated[str, Meta(description="The G… or C… address that pays.")]


class SponsoredFees(msgspec.Struct, frozen=True, rename="camel"):
    """The service pays the network fees."""

    are_fees_sponsored: Annotated[bool, Meta(extra_json_schema={"const": True})]


class RequirementsBody(msgspec.Struct, frozen=True, rename="camel"):
    """`paymentRequirements`: the seller's terms."""

    scheme: Literal["exact"]
    network: Network
    asset: Annotated[str, Meta(pattern=r"^C[A-Z2-7]{55}$(?!\n)")]
    amount: Annotated[
        str,
        Meta(pattern=r"^[1-9][0-9]{0,38}$(?!\n)", description="Base units, at most 2^127 - 1."),
    ]
    pay_to: Annotated[str, Meta(pattern=r"^[GC][A-Z2-7]{55}$(?!\n)")]
    max_timeout_seconds: Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S)]
    extra: SponsoredFees | UnsetType = UNSET


class PaymentRequestBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The body of `/verify` and `/settle`, as the API schema declares it.

    `x402/wire.py` reads it rule by rule, so that the first broken rule has its own reason.
    """

    x402_version: Literal[2] | UnsetType = UNSET
    payment_payload: Annotated[
        dict[str, Any], Meta(description="As in the PAYMENT-SIGNATURE header.")
    ]
    payment_requirements: RequirementsBody


class PaymentExtra(msgspec.Struct, frozen=True, omit_defaults=True):
    """`extra` of a response: warnings, or the transaction that settled the payment before."""

    warnings: tuple[str, ...] | UnsetType = UNSET
    transaction: str | UnsetType = UNSET


TOKEN_UNVERIFIED: Final = PaymentExtra(warnings=("token_unverified",))
PAYER_EXAMPLE: Final = "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3"
TERMS_EXAMPLE: Final = {
    "scheme": "exact",
    "network": "stellar:testnet",
    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    "amount": "10000",
    "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "maxTimeoutSeconds": 60,
    "extra": {"areFeesSponsored": True},
}
REQUEST_EXAMPLE: Final = {
    "x402Version": 2,
    "paymentPayload": {
        "x402Version": 2,
        "accepted": TERMS_EXAMPLE,
        "payload": {"transaction": "AAAAAgAAAABG…"},
    },
    "paymentRequirements": TERMS_EXAMPLE,
}


class UsageMeter(Protocol):
    """Counts verifications and refused settlements of a caller; both methods return at once."""

    def count_verification(
        self, owner: OwnerId, network: Network, *, is_accepted: bool
    ) -> None: ...

    def count_refused_settlement(self, owner: OwnerId, network: Network) -> None: ...


@dataclass(frozen=True, slots=True)
class PaymentAccess:
    """The credentials that verifying and settling need on each network, and the usage meter."""

    networks: Mapping[Network, Access]
    meter: UsageMeter

    def apply_to(self, route: RouteDeclaration) -> RouteDeclaration:
        """Make the credential of a route optional when one network needs none."""
        is_optional = any(each.is_optional for each in self.networks.values())
        access = route.access and replace(route.access, is_optional=is_optional)
        return replace(route, access=access)

    def caller(self, scope: Scope, network: Network) -> Caller | None:
        """Authorize the caller; None for one without credentials where none are needed.

        Raises:
            Refusal: the caller lacks a credential or scope that the network needs.
            Outage: the caller cannot be authenticated now.
        """
        access = self.networks.get(network)
        return optional_caller_of(scope) if access is None else require_access(scope, access)


def choose_status(request: Unacceptable) -> int:
    """The HTTP status of a refused body: 400 for one that cannot be read, 200 for a verdict."""
    return 400 if request.reason in _BAD_REQUESTS else 200


def describe_reason(reason: Reason, member: str = "") -> str:
    """The sentence of a reason; `member` is the path of the member that has to change."""
    sentence = explain(reason).sentence
    return f"{sentence} Look at {member}." if member else sentence


def read_failure_reason(failure: Failure, default: Reason) -> Reason:
    """The reason of a request that failed before it had a verdict."""
    return _REASONS.get(failure.code, default)
