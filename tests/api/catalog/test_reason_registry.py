"""`GET /v1/errors` explains every drop reason of a listing as well as those of payments."""

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.catalog.ingestion.listing_outcome import OWNERSHIP_CHECK_PENDING, RejectionReason
from farebox.catalog.reason_registry import REASONS
from farebox.catalog.validate import ValidationFault
from farebox.facilitator.listing_report import SENTENCES
from farebox.x402.reasons import Reason
from support.stage import Stage


async def test_errors_route_returns_every_code_with_its_sentence(stage: Stage) -> None:
    answer = await stage.client.get("/v1/errors")
    body = answer.json()
    assert [each["code"] for each in body["errors"]] == [reason.value for reason in Reason]
    assert {each["code"]: each["message"] for each in body["listing"]} == dict(REASONS)
    assert len(body["listing"]) == len(REASONS)


def test_reason_registry_holds_every_code_once() -> None:
    codes = [*DropReason, *RejectionReason, *ValidationFault, *SENTENCES, OWNERSHIP_CHECK_PENDING]
    assert sorted(map(str, codes)) == sorted(REASONS)
    assert all(code.isascii() and code == code.lower() for code in REASONS)
    assert all(len(code) <= 64 and code.replace("_", "a").isalnum() for code in REASONS)
    assert all(sentence.endswith(".") and sentence.isascii() for sentence in REASONS.values())
