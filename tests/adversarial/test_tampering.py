"""Bit flips: signed data cannot be changed, and no damaged request breaks a route."""

import base64
import random
from typing import Final

import msgspec
import pytest

from farebox.facilitator.verification.verdict import SignedTransfer
from farebox.stellar.transactions import simulation_envelope
from support import payment_rules as rules
from support.accepted_payment import RELAYER
from support.promises import case, promise
from support.stage import Stage
from testing.entries import Credentials

BROKEN_BODIES: Final = 400
SPLICES: Final = [b"null", b"[]", b"{}", b'"', b"\\u0000", b"\xff", b"1e999", b"-", b",", b"}"]


@case("PV-072")
@promise("error:tampering-fails", "signature:binds-the-call", "signature:binds-the-contract")
@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
def test_any_bit_flip_in_the_operation_is_refused(kind: Credentials) -> None:
    draft = rules.draft(kind=kind)
    raw, operation = draft.envelope().to_xdr_bytes(), draft.operation().to_xdr_bytes()
    assert isinstance(rules.judge(draft.request()), SignedTransfer)
    start, chance = raw.index(operation), random.Random(7)
    still_valid = []
    for at in range(start, start + len(operation)):
        changed = bytearray(raw)
        changed[at] ^= 1 << chance.randrange(8)
        if isinstance(rules.judge(draft.request(bytes(changed))), SignedTransfer):
            still_valid.append(at - start)
    assert still_valid == []


@promise("payload:entries-verbatim")
def test_bit_flip_around_the_operation_is_dropped_or_refused() -> None:
    draft = rules.draft()
    raw, operation = draft.envelope().to_xdr_bytes(), draft.operation().to_xdr_bytes()
    start = raw.index(operation)
    around = [*range(start), *range(start + len(operation), len(raw))]
    simulated_envelopes = set()
    for at in around:
        changed = bytearray(raw)
        changed[at] ^= 1
        transfer = rules.judge(draft.request(bytes(changed)))
        if isinstance(transfer, SignedTransfer):
            simulated = simulation_envelope(transfer.envelope, source=RELAYER.address, sequence=1)
            simulated_envelopes.add(simulated)
    assert len(simulated_envelopes) == 1, "what is simulated does not depend on what is dropped"


async def test_damaged_body_gets_no_server_error(stage: Stage) -> None:
    good, chance = msgspec.json.encode((await stage.draft()).request()), random.Random(11)
    for _ in range(BROKEN_BODIES):
        at = chance.randrange(len(good))
        if chance.random() < 0.5:
            bad = good[:at] + chance.choice(SPLICES) + good[at + chance.randrange(20) :]
        else:
            bad = good[:at] + chance.randbytes(chance.randrange(1, 4)) + good[at + 1 :]
        for path in ("/verify", "/settle"):
            answer = await stage.client.post(path, bad)
            assert answer.status in (200, 400), (answer.status, bad)
            body = answer.json()
            if answer.status == 400:
                assert body.get("invalidReason") or body.get("errorReason")
        await stage.query("DELETE FROM settlements")


@promise("error:never-a-double-charge")
async def test_other_base64_of_same_bytes_is_same_payment_or_refused(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    text = base64.b64encode(draft.envelope().to_xdr_bytes()).decode()
    tx_hash = await stage.assert_settles(draft.request())
    for other in (
        text[:76] + "\n" + text[76:],
        text + "\n",
        " " + text,
        text.rstrip("="),
        text.rstrip("=") + "===",
        text.replace("+", "-").replace("/", "_"),
        text[:4] + "====" + text[4:],
    ):
        body = draft.request()
        body["paymentPayload"]["payload"]["transaction"] = other
        outcome = await stage.settle(body)
        assert outcome["success"] is False
        assert outcome["transaction"] in ("", tx_hash)
    assert stage.node().counts()["sendTransaction"] == 1
