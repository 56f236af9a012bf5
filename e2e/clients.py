"""Foreign facilitator clients parse every kind of answer: npm @x402/core 2.27 and PyPI x402."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.schemas import PaymentPayload, PaymentRequirements

from testing.commands import node_lines

# The expected content of each answer once a foreign client has parsed it.
_NODE_S: Final = 120.0
_EXPECTED: Final[Mapping[str, Mapping[str, object]]] = {
    "verify_valid": {"isValid": True},
    "verify_invalid": {
        "isValid": False,
        "invalidReason": "invalid_exact_stellar_payload_wrong_amount",
    },
    "settle_ok": {"success": True},
    "settle_repeated": {"success": False, "errorReason": "duplicate_settlement"},
    "settle_failed": {
        "success": False,
        "errorReason": "invalid_exact_stellar_payload_wrong_amount",
        "transaction": "",
    },
}


@dataclass(frozen=True, slots=True)
class SignedPayment:
    """A payment with the terms it was signed for."""

    payment: dict[str, Any]
    terms: dict[str, Any]

    def with_higher_price(self) -> dict[str, Any]:
        """Return the payment with terms of one base unit more, which must be refused."""
        dearer = self.terms | {"amount": str(int(self.terms["amount"]) + 1)}
        payment = self.payment | {"accepted": self.payment["accepted"] | dearer}
        return {"payment": payment, "terms": dearer}


def npm_answers(facilitator: str, signed: SignedPayment) -> dict[str, Any]:
    """Return every answer as parsed by the npm client, or its error."""
    options = {
        "facilitator": facilitator,
        "good": {"payment": signed.payment, "terms": signed.terms},
        "bad": signed.with_higher_price(),
    }
    env = {"ANSWERS": json.dumps(options)}
    answers: dict[str, Any] = json.loads(node_lines("answers.mjs", within_s=_NODE_S, env=env)[-1])
    return answers


async def pypi_answers(facilitator: str, signed: SignedPayment) -> dict[str, Any]:
    """Return every answer as parsed by the PyPI client, or its error."""
    good = PaymentPayload.model_validate(signed.payment)
    terms = PaymentRequirements.model_validate(signed.terms)
    wrong = signed.with_higher_price()
    bad = PaymentPayload.model_validate(wrong["payment"])
    dearer = PaymentRequirements.model_validate(wrong["terms"])
    async with HTTPFacilitatorClient(FacilitatorConfig(url=facilitator)) as client:

        async def supported() -> Any:
            return client.get_supported()

        return {
            "supported": await _parse(supported()),
            "verify_valid": await _parse(client.verify(good, terms)),
            "verify_invalid": await _parse(client.verify(bad, dearer)),
            "settle_ok": await _parse(client.settle(good, terms)),
            "settle_repeated": await _parse(client.settle(good, terms)),
            "settle_failed": await _parse(client.settle(bad, dearer)),
        }


async def _parse(call: Any) -> dict[str, Any]:
    try:
        model = await call
    except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
        return {"error": f"{type(error).__name__}: {error}"}
    return {"answer": model.model_dump(by_alias=True, exclude_none=True, mode="json")}


def find_faults(answers: Mapping[str, Any], *, network: str) -> list[str]:
    """Find the faults of parsed answers; empty when there are none."""
    found = [f"{name}: {result['error']}" for name, result in answers.items() if "error" in result]
    if found:
        return found
    kinds = answers["supported"]["answer"]["kinds"]
    if not any(k["network"] == network and k["scheme"] == "exact" for k in kinds):
        found.append(f"supported: no kind for {network}")
    for name, expected in _EXPECTED.items():
        result = answers[name]["answer"]
        wrong = {k: result.get(k) for k, value in expected.items() if result.get(k) != value}
        if wrong:
            found.append(f"{name}: {wrong}")
    return found
