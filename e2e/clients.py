"""Foreign facilitator clients parse every kind of answer: npm @x402/core 2.27 and PyPI x402."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.schemas import PaymentPayload, PaymentRequirements

from e2e.machine import ROOT, RunFailed, environment, node_command

# What each answer must say once the foreign client has parsed it.
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
    """A payment on the wire with the terms it was signed for."""

    payment: dict[str, Any]
    terms: dict[str, Any]

    def asked_for_more(self) -> dict[str, Any]:
        """The same payment held against terms of one base unit more: it must be refused."""
        dearer = self.terms | {"amount": str(int(self.terms["amount"]) + 1)}
        payment = self.payment | {"accepted": self.payment["accepted"] | dearer}
        return {"payment": payment, "terms": dearer}


def npm_answers(facilitator: str, signed: SignedPayment) -> dict[str, Any]:
    """Every answer as the npm client returned it, or the error it threw."""
    given = {
        "facilitator": facilitator,
        "good": {"payment": signed.payment, "terms": signed.terms},
        "bad": signed.asked_for_more(),
    }
    done = subprocess.run(
        node_command(ROOT / "e2e" / "answers.mjs"),
        env=environment({"ANSWERS": json.dumps(given)}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunFailed(f"answers.mjs failed:\n{done.stderr.strip()[-800:]}")
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


async def pypi_answers(facilitator: str, signed: SignedPayment) -> dict[str, Any]:
    """Every answer as the PyPI client returned it, or the error it raised."""
    good = PaymentPayload.model_validate(signed.payment)
    terms = PaymentRequirements.model_validate(signed.terms)
    wrong = signed.asked_for_more()
    bad = PaymentPayload.model_validate(wrong["payment"])
    dearer = PaymentRequirements.model_validate(wrong["terms"])
    async with HTTPFacilitatorClient(FacilitatorConfig(url=facilitator)) as client:

        async def supported() -> Any:
            return client.get_supported()

        return {
            "supported": await _parsed(supported()),
            "verify_valid": await _parsed(client.verify(good, terms)),
            "verify_invalid": await _parsed(client.verify(bad, dearer)),
            "settle_ok": await _parsed(client.settle(good, terms)),
            "settle_repeated": await _parsed(client.settle(good, terms)),
            "settle_failed": await _parsed(client.settle(bad, dearer)),
        }


async def _parsed(call: Any) -> dict[str, Any]:
    try:
        model = await call
    except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
        return {"error": f"{type(error).__name__}: {error}"}
    return {"answer": model.model_dump(by_alias=True, exclude_none=True, mode="json")}


def faults(answers: Mapping[str, Any], *, network: str) -> list[str]:
    """What is wrong with the parsed answers; empty when everything was understood."""
    found = [f"{name}: {seen['error']}" for name, seen in answers.items() if "error" in seen]
    if found:
        return found
    kinds = answers["supported"]["answer"]["kinds"]
    if not any(k["network"] == network and k["scheme"] == "exact" for k in kinds):
        found.append(f"supported: no kind for {network}")
    for name, expected in _EXPECTED.items():
        seen = answers[name]["answer"]
        wrong = {k: seen.get(k) for k, value in expected.items() if seen.get(k) != value}
        if wrong:
            found.append(f"{name}: {wrong}")
    return found
