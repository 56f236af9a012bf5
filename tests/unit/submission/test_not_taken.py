"""The four causes of TRY_AGAIN_LATER, and the number that is used already."""

from dataclasses import replace

import pytest

from farebox.submission.not_taken import Evidence, NotTakenCause, why_not_taken

NOTHING_KNOWN = Evidence(
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
        (NOTHING_KNOWN, NotTakenCause.QUEUE_FULL),
        (NEXT, NotTakenCause.QUEUE_FULL),
        (replace(NEXT, others_were_taken=True), NotTakenCause.SOURCE_PENDING),
        (replace(NEXT, source_has_another=True), NotTakenCause.SOURCE_PENDING),
        (replace(NEXT, used=5), NotTakenCause.OTHER_SEQUENCE),
        (replace(NEXT, used=5, source_has_another=True), NotTakenCause.OTHER_SEQUENCE),
        (replace(NEXT, was_taken=True), NotTakenCause.BANNED),
        (replace(NOTHING_KNOWN, was_taken=True), NotTakenCause.BANNED),
        (replace(NEXT, ledgers_out=4), NotTakenCause.QUEUE_FULL),
        (replace(NEXT, ledgers_out=5), NotTakenCause.BANNED),
        (replace(NEXT, ledgers_out=5, used=5), NotTakenCause.BANNED),
        (replace(NEXT, used=7), NotTakenCause.NUMBER_USED),
        (replace(NEXT, used=9, was_taken=True), NotTakenCause.NUMBER_USED),
    ],
)
def test_the_evidence_tells_the_causes_apart(evidence: Evidence, cause: NotTakenCause) -> None:
    assert why_not_taken(evidence) is cause
