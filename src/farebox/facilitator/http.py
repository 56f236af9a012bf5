"""All routes of the facilitator; `/supported`, `/v1/settlements/{transaction}`, `/v1/errors`."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.types import Receive, Scope, Send

from farebox.facilitator.channels.operator_accounts import OperatorAccounts
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.listing_report import SENTENCES, ListingReports
from farebox.facilitator.payment_http import PAYER_EXAMPLE, PayerText, PaymentAccess, SponsoredFees
from farebox.facilitator.settle_http import SETTLE, SettleEndpoint
from farebox.facilitator.settlement import Settlement, SettlementState
from farebox.facilitator.settling.idempotency import StoredResponses
from farebox.facilitator.settling.journal_verifier import JournalVerifier
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.verify_http import VERIFY, VerifyPaymentEndpoint
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
)
from farebox.web.responses import send_json
from farebox.x402.extensions import BAZAAR, PAYMENT_IDENTIFIER
from farebox.x402.reasons import REGISTRY, Reason, Retry
from farebox.x402.wire import SCHEME, X402_VERSION

_encode: Final = msgspec.json.Encoder().encode
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_Status = Literal["pending", "confirmed", "failed", "unproven"]
_STATUS: Final[Mapping[SettlementState, _Status]] = {
    SettlementState.CLAIMED: "pending",
    SettlementState.SENDING: "pending",
    SettlementState.SUBMITTED: "pending",
    SettlementState.CONFIRMED: "confirmed",
    SettlementState.FAILED: "failed",
    SettlementState.DEAD: "failed",
    SettlementState.UNPROVEN: "unproven",
}
_Hash = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
_Amount = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]+$"})]
_HASH_EXAMPLE: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class KindBody(msgspec.Struct, frozen=True, rename="camel"):
    """A scheme on a network that the service settles."""

    x402_version: Literal[2]
    scheme: Literal["exact"]
    network: Network
    extra: SponsoredFees


class SupportedBody(msgspec.Struct, frozen=True):
    """Every configured network, also while its node is unavailable."""

    kinds: list[KindBody]
    extensions: list[str]
    signers: dict[str, list[str]]


class SettlementBody(msgspec.Struct, frozen=True, rename="camel"):
    """The status of a settlement; `landedAs` is the hash of another transaction that landed."""

    transaction: _Hash
    network: Network
    status: _Status
    payer: PayerText
    pay_to: str
    asset: str
    amount: _Amount
    landed_as: _Hash | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ReasonBody(msgspec.Struct, frozen=True):
    """A reason code of `/verify` and `/settle`."""

    code: Reason
    message: str
    retry: Retry


class ListingReasonBody(msgspec.Struct, frozen=True):
    """A code of the listing report."""

    code: str
    message: str


class ReasonsBody(msgspec.Struct, frozen=True):
    """The reason codes of payments, of a listing, and of the errors at `/mcp`."""

    errors: list[ReasonBody]
    listing: list[ListingReasonBody]
    mcp: list[ListingReasonBody]


SUPPORTED: Final = RouteDeclaration(
    method="GET",
    path="/supported",
    tag="facilitator",
    summary="Networks, extensions and accounts of the service.",
    responses={200: ResponseDeclaration("The supported kinds of payments.", SupportedBody)},
    rate=None,  # clients ask when they start; the answer needs no database
    is_cross_origin=True,
    example=Example(
        response={
            "kinds": [
                {
                    "x402Version": 2,
                    "scheme": "exact",
                    "network": "stellar:testnet",
                    "extra": {"areFeesSponsored": True},
                }
            ],
            "extensions": ["bazaar", "payment-identifier"],
            "signers": {"stellar:*": [PAYER_EXAMPLE]},
        }
    ),
)
SETTLEMENT: Final = RouteDeclaration(
    method="GET",
    path="/v1/settlements/{transaction}",
    tag="facilitator",
    summary="The status of a settlement.",
    parameters=(record_id("The transaction's hash.", name="transaction"),),
    responses={200: ResponseDeclaration("The settlement.", SettlementBody)},
    rate=Rate(RateClass.DISCOVERY),
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(
        response={
            "transaction": _HASH_EXAMPLE,
            "network": "stellar:testnet",
            "status": "confirmed",
            "payer": PAYER_EXAMPLE,
            "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
            "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
            "amount": "10000",
        }
    ),
)
ERRORS: Final = RouteDeclaration(
    method="GET",
    path="/v1/errors",
    tag="facilitator",
    summary="Every reason code with a sentence and its retry class.",
    responses={200: ResponseDeclaration("The reason codes.", ReasonsBody)},
    rate=None,
    is_cross_origin=True,
    example=Example(
        response={
            "errors": [
                {
                    "code": "insufficient_funds",
                    "message": "The payer holds too little of the asset.",
                    "retry": "later",
                }
            ],
            "listing": [{"code": "bazaar_missing", "message": "There is no extension bazaar."}],
            "mcp": [{"code": "HTTPS_REQUIRED", "message": "The URL must begin with https://."}],
        }
    ),
)


class SupportedEndpoint:
    """Every configured network, and every account that can send or pay, channels included."""

    def __init__(self, operators: Mapping[Network, OperatorAccounts]) -> None:
        self._operators = operators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        signers = {each for own in self._operators.values() for each in own.usable}
        body = supported_body(list(self._operators), sorted(signers))
        await send_json(send, 200, _encode(body))


class SettlementNotFound(Refusal):
    """No settlement of this service has the hash."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.NOT_FOUND, "No settlement of this service has this transaction hash."
        )


class SettlementEndpoint:
    """The status of the settlement with an outer or inner transaction hash."""

    def __init__(self, journal: SettlementJournal) -> None:
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        text = str(scope["path_params"]["transaction"])
        settlement = None
        if _HASH.match(text):
            settlement = await self._journal.find_by_hash(bytes.fromhex(text))
        if settlement is None:
            raise SettlementNotFound
        await send_json(send, 200, _encode(settlement_body(settlement, text)))


class ErrorsEndpoint:
    """The reason codes, which do not change while the service runs."""

    def __init__(self, listing: Mapping[str, str], agents: Mapping[str, str]) -> None:
        self._body = _encode(reasons_body(listing, agents))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, self._body)


def facilitator_endpoints(
    verifier: JournalVerifier,
    settler: Settler,
    responses: StoredResponses,
    journal: SettlementJournal,
    operators: Mapping[Network, OperatorAccounts],
    access: PaymentAccess,
    reports: ListingReports | None = None,
    listing_reasons: Mapping[str, str] = SENTENCES,
    agent_reasons: Mapping[str, str] = MappingProxyType({}),
) -> list[Endpoint]:
    """Return the facilitator's routes; without `reports` no settlement carries a listing report.

    `listing_reasons` are the codes that `reports` may give, and `agent_reasons` those of `/mcp`,
    with their sentences.
    """
    return [
        Endpoint(access.apply_to(VERIFY), VerifyPaymentEndpoint(verifier, access)),
        Endpoint(access.apply_to(SETTLE), SettleEndpoint(settler, responses, access, reports)),
        Endpoint(SUPPORTED, SupportedEndpoint(operators)),
        Endpoint(SETTLEMENT, SettlementEndpoint(journal)),
        Endpoint(ERRORS, ErrorsEndpoint(listing_reasons, agent_reasons)),
    ]


def settlement_body(settlement: Settlement, tx_hash: str) -> SettlementBody:
    """Make the public status of a settlement."""
    return SettlementBody(
        transaction=tx_hash,
        network=settlement.identity.network,
        status=_STATUS[settlement.state],
        payer=settlement.identity.payer,
        pay_to=settlement.pay_to,
        asset=settlement.asset,
        amount=str(settlement.amount),
        landed_as=UNSET if settlement.landed_hash is None else settlement.landed_hash.hex(),
        reason=settlement.reason.value if settlement.reason else UNSET,
    )


def supported_body(networks: list[Network], signers: list[Address]) -> SupportedBody:
    """Make the body of `/supported`."""
    return SupportedBody(
        kinds=[
            KindBody(X402_VERSION, SCHEME, network, SponsoredFees(are_fees_sponsored=True))
            for network in networks
        ],
        extensions=[BAZAAR, PAYMENT_IDENTIFIER],
        signers={"stellar:*": [*signers]},
    )


def reasons_body(listing: Mapping[str, str], agents: Mapping[str, str]) -> ReasonsBody:
    """Make the body of `/v1/errors`; `listing` and `agents` are codes with their sentences."""
    return ReasonsBody(
        errors=[
            ReasonBody(reason, meaning.sentence, meaning.retry)
            for reason, meaning in REGISTRY.items()
        ],
        listing=[ListingReasonBody(code, sentence) for code, sentence in listing.items()],
        mcp=[ListingReasonBody(code, sentence) for code, sentence in agents.items()],
    )
