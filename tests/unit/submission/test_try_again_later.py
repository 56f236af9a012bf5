"""The causes of TRY_AGAIN_LATER, inferred from the evidence."""

from dataclasses import replace

import pytest

from farebox.submission.try_again_later import RefusalEvidence, TryAgainLaterCause, infer_cause

NOTHING_KNOWN = RefusalEvidence(
    sequence=7,
    used=None,
    was_taken=False,
    ledgers_out=None,
    source_has_another=False,
    others_were_taken=False,
)
NEXT = replace(NOTHING_KNOWN, used=6)


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        (NOTHING_KNOWN, TryAgainLaterCause.QUEUE_FULL),
        (NEXT, TryAgainLaterCause.QUEUE_FULL),
        (replace(NEXT, others_were_taken=True), TryAgainLaterCause.SOURCE_PENDING),
        (replace(NEXT, source_has_another=True), TryAgainLaterCause.SOURCE_PENDING),
        (replace(NEXT, used=5), TryAgainLaterCause.OTHER_SEQUENCE),
        (replace(NEXT, used=5, source_has_another=True), TryAgainLaterCause.OTHER_SEQUENCE),
        (replace(NEXT, was_taken=True), TryAgainLaterCause.BANNED),
        (replace(NOTHING_KNOWN, was_taken=True), TryAgainLaterCause.BANNED),
        (replace(NEXT, ledgers_out=4), TryAgainLaterCause.QUEUE_FULL),
        (replace(NEXT, ledgers_out=5), TryAgainLaterCause.BANNED),
        (replace(NEXT, ledgers_out=5, used=5), TryAgainLaterCause.BANNED),
        (replace(NEXT, used=7), TryAgainLaterCause.NUMBER_USED),
        (replace(NEXT, used=9, was_taken=True), TryAgainLaterCause.NUMBER_USED),
    ],
)
def test_infer_cause_follows_the_evidence(
    evidence: RefusalEvidence, cause: TryAgainLaterCause
) -> None:
    assert infer_cause(evidence) is cause
