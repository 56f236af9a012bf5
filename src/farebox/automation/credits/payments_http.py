"""Payment for runs: `/v1/automations/{id}/payment` and `/topup`, and `/v1/automations/credits`."""

from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.automation.credits.pay_for_runs import RunOrder, RunPayments, RunsOffered
from farebox.automation.credits.present_payment import PaymentPresentation
from farebox.automation.credits.run_offer import RunOffer
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.credits.wire import (
    PayForRunsRequest,
    RunCreditBody,
    RunCreditListBody,
    RunPaymentResultBody,
    TopUpRequest,
    run_payment_body,
    run_receipt,
)
from farebox.automation.plan_body import proposal_body
from farebox.automation.plans import owned_proposal_store
from farebox.kernel.caller import Grant, OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import is_id
from farebox.stellar.simulation_slots import SimulationPurpose, simulating_for
from farebox.storage.pool import Database
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ParameterLocation,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
    text,
)
from farebox.web.guard import Access, caller_of, share_name
from farebox.web.request_body import read_json
from farebox.web.responses import send_json
from farebox.x402.headers import PAYMENT_REQUIRED, PAYMENT_RESPONSE, PAYMENT_SIGNATURE

AUTOMATIONS: Final = "/v1/automations"
_SIGNATURE: Final = PAYMENT_SIGNATURE.lower().encode()
_REQUIRED: Final = PAYMENT_REQUIRED.lower().encode()
_RECEIPT: Final = PAYMENT_RESPONSE.lower().encode()
_RETRY: Final = (b"retry-after", b"5")
_encode: Final = msgspec.json.Encoder().encode
_PAY: Final = msgspec.json.Decoder(PayForRunsRequest)
_TOP_UP: Final = msgspec.json.Decoder(TopUpRequest)
_ID: Final = record_id("The plan's id.", prefix="auto")
_HEADER: Final = text(max_length=65_536)
_ACCESS: Final = Access(Grant.AUTOMATION)
_PAYMENT_HEADER: Final = Parameter(
    PAYMENT_SIGNATURE,
    "A payment of x402 version 2 for the offer of a 402, by any account.",
    _HEADER,
    ParameterLocation.HEADER,
)
_RECEIPT_HEADER: Final = Parameter(
    PAYMENT_RESPONSE, "The receipt.", _HEADER, ParameterLocation.HEADER
)
_RESPONSES: Final = {
    200: ResponseDeclaration(
        "The runs are credited. The same payment again gets the same receipt.",
        RunPaymentResultBody,
        headers=(_RECEIPT_HEADER,),
    ),
    202: ResponseDeclaration(
        "The payment may have been sent, and is not final: send the same request again. Sign no "
        "second payment.",
        RunPaymentResultBody,
        headers=(_RECEIPT_HEADER,),
    ),
    402: ResponseDeclaration(
        "The PaymentRequired object of x402 version 2; or, with a receipt, the payment that was "
        "sent and has failed.",
        {"type": "object"},
        headers=(
            Parameter(PAYMENT_REQUIRED, "The same object.", _HEADER, ParameterLocation.HEADER),
            _RECEIPT_HEADER,
        ),
    ),
}
_ERRORS: Final = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_PAYMENT_HEADER,
    ErrorCode.NOT_FOUND,
    ErrorCode.ILLEGAL_TRANSITION,
    ErrorCode.PREFLIGHT_FAILED,
    ErrorCode.FEE_CEILING,
    ErrorCode.SESSION_EXPIRES_TOO_SOON,
    ErrorCode.QUOTE_EXPIRED,
    ErrorCode.PAYMENT_IN_FLIGHT,
    ErrorCode.PAYMENT_USED,
    ErrorCode.LIMIT_EXCEEDED,
    ErrorCode.NETWORK_UNAVAILABLE,
    ErrorCode.AUTOMATION_UNAVAILABLE,
)
_EXAMPLE_PLAN: Final[dict[str, Any]] = {
    "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
    "network": "stellar:testnet",
    "account": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
    "accountKind": "g",
    "kind": "contract_call",
    "title": "Harvest daily",
    "authorityMode": "open",
    "status": "paid",
    "statusReason": None,
    "isCancelling": False,
    "schedule": {"type": "interval", "everySeconds": 86400, "startAt": "2026-11-26T08:00:00Z"},
    "spec": {
        "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
        "autolayer": True,
    },
    "missedRuns": "skip",
    "maxLatenessSeconds": 3600,
    "maxFeeStroops": "3000000",
    "runLimit": 12,
    "authorizationLimit": 12,
    "runsCredited": 12,
    "runsConsumed": 0,
    "runsSucceeded": 0,
    "authorizationsUsed": 0,
    "failuresInRow": 0,
    "policyId": "7d" * 32,
    "policyName": "pol_pv6x27l5pv6x27l5pv6x",
    "delegate": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "targetWasmHash": "5a" * 32,
    "startsAt": "2026-11-25T08:00:00Z",
    "expiresAt": "2026-12-25T08:00:00Z",
    "overdueAt": "2026-12-02T08:00:00Z",
    "nextRuns": [],
    "createdAt": "2026-11-25T08:00:00Z",
    "updatedAt": "2026-11-25T08:01:00Z",
}
_EXAMPLE_PAYMENT: Final[dict[str, Any]] = {
    "id": "apay_2nAbCdEfGhIjKlMnOpQrSt",
    "runs": 12,
    "amount": "900000",
    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "state": "confirmed",
    "transaction": "c1" * 32,
    "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
    "isTopUp": False,
    "createdAt": "2026-11-25T08:00:00Z",
}
_EXAMPLE: Final = {"proposal": _EXAMPLE_PLAN, "payment": _EXAMPLE_PAYMENT}

PAYMENT: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/{{id}}/payment",
    tag="automation",
    summary="Pay for the runs of a plan: 402 with the price, then the same request with a payment.",
    request=PayForRunsRequest,
    is_request_required=False,
    responses=_RESPONSES,
    parameters=(_ID, _PAYMENT_HEADER),
    access=_ACCESS,
    errors=_ERRORS,
    example=Example(request={}, response=_EXAMPLE),
)
TOP_UP: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/{{id}}/topup",
    tag="automation",
    summary="Pay for more runs of a plan, up to its run limit.",
    request=TopUpRequest,
    responses=_RESPONSES,
    parameters=(_ID, _PAYMENT_HEADER),
    access=_ACCESS,
    errors=_ERRORS,
    example=Example(
        request={"runs": 4},
        response=_EXAMPLE | {"payment": _EXAMPLE_PAYMENT | {"runs": 4, "isTopUp": True}},
    ),
)
CREDITS: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/credits",
    tag="automation",
    summary="What you have paid and no plan holds, by network.",
    responses={200: ResponseDeclaration("The credits.", RunCreditListBody)},
    access=_ACCESS,
    example=Example(
        response={
            "items": [
                {
                    "network": "stellar:testnet",
                    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                    "amount": "300000",
                }
            ]
        }
    ),
)


class PayForRuns:
    """Offer the runs of a plan, or take their payment; `origin` is the service's public URL."""

    def __init__(
        self,
        payments: RunPayments,
        database: Database,
        clock: Clock,
        origin: str,
        *,
        is_top_up: bool,
    ) -> None:
        self._presentation, self._database = PaymentPresentation(payments), database
        self._clock, self._origin, self._is_top_up = clock, origin, is_top_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, proposal_id = caller_of(scope), scope["path_params"]["id"]
        if not is_id("auto", proposal_id):
            raise NotFound
        order = RunOrder(
            caller=caller,
            proposal_id=proposal_id,
            client=share_name(scope),
            runs=await self._read_runs(receive),
            is_top_up=self._is_top_up,
        )
        signatures = [value for name, value in scope["headers"] if name == _SIGNATURE]
        url = f"{self._origin}{scope['path']}"
        with simulating_for(SimulationPurpose.PREVIEW, order.client):  # of runs, for their price
            outcome = await self._presentation.respond(order, signatures, url)
        if isinstance(outcome, RunsOffered):
            offer, error = RunOffer(outcome.quote, url), outcome.error
            header = (_REQUIRED, offer.header(error).encode())
            await send_json(send, 402, _encode(offer.to_json(error)), [header])
        else:
            await self._send_decided(send, caller.owner, outcome.payment)

    async def _read_runs(self, receive: Receive) -> int | None:
        if self._is_top_up:
            return (await read_json(receive, _TOP_UP, "{runs}.")).runs
        runs = (await read_json(receive, _PAY, "{runs?}.")).runs
        return None if runs is msgspec.UNSET else runs

    async def _send_decided(self, send: Send, owner: OwnerId, payment: RunPayment) -> None:
        is_confirmed = payment.state is RunPaymentState.CONFIRMED
        headers = []
        if payment.identity is not None:
            receipt = run_receipt(payment, is_success=is_confirmed)
            headers.append((_RECEIPT, receipt.encode()))
        if payment.state is RunPaymentState.FAILED:
            await send_json(send, 402, _encode({"error": payment.failure}), headers)
            return
        async with self._database.connection() as db:
            row = await owned_proposal_store.find_proposal(db, owner, payment.proposal_id)
        if row is None:
            raise NotFound
        plan = proposal_body(row, self._clock.now())
        body = RunPaymentResultBody(plan, run_payment_body(payment))
        status = 200 if is_confirmed else 202
        await send_json(
            send, status, _encode(body), headers if is_confirmed else [*headers, _RETRY]
        )


class ListRunCredits:
    """List what the caller has paid and no plan holds."""

    def __init__(self, payments: RunPayments) -> None:
        self._payments = payments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        balances = await self._payments.balances(caller_of(scope).owner)
        body = RunCreditListBody(
            [RunCreditBody(each.network, each.asset, str(each.amount)) for each in balances]
        )
        await send_json(send, 200, _encode(body))


def run_payment_endpoints(
    payments: RunPayments, database: Database, clock: Clock, origin: str
) -> list[Endpoint]:
    """Return the routes of payments for runs; `database` is for reads."""
    pay, top_up = (
        PayForRuns(payments, database, clock, origin, is_top_up=each) for each in (False, True)
    )
    return [
        Endpoint(CREDITS, ListRunCredits(payments)),
        Endpoint(PAYMENT, pay),
        Endpoint(TOP_UP, top_up),
    ]
