"""A wallet that can sign 32 bytes and nothing else, and the two routes that pay with it."""

import base64
from typing import Any, Final

from nacl.signing import SigningKey
from stellar_sdk import Keypair

from support.asgi import Answer
from support.payments import Draft, Json
from support.stage import Stage

PREPARE: Final = "/v1/payments/prepare"
COMPLETE: Final = "/v1/payments/complete"


class HashSigner:
    """An ed25519 key that signs 32 bytes."""

    def __init__(self, key: Keypair) -> None:
        seed = key.raw_secret_key()
        self._key = SigningKey(seed)

    def sign(self, prepared: Json) -> bytes:
        """The signature of the hash of a prepared payment."""
        digest = bytes.fromhex(prepared["hash"])
        assert len(digest) == 32
        return self._key.sign(digest).signature


async def prepare(stage: Stage, terms: Json, payer: str) -> Json:
    """Prepare a payment, which is a 200."""
    answer = await stage.client.post(PREPARE, {"requirements": terms, "payer": payer})
    assert answer.status == 200, answer.body
    return answer.json()


async def ask_to_complete(
    stage: Stage, prepared: Json, signature: str, terms: Json, **more: Any
) -> Answer:
    """Send a completion."""
    body = {"entry": prepared["entry"], "signature": signature, "requirements": terms}
    return await stage.client.post(COMPLETE, body | more)


async def complete(stage: Stage, prepared: Json, signature: str, terms: Json, **more: Any) -> Json:
    """Complete a payment, which is a 200."""
    answer = await ask_to_complete(stage, prepared, signature, terms, **more)
    assert answer.status == 200, answer.body
    return answer.json()


async def payment_body(stage: Stage, draft: Draft, signer: Keypair) -> Json:
    """The body of /verify and /settle of a payment that a classic account signed by its hash."""
    terms = draft.terms()
    prepared = await prepare(stage, terms, draft.payer)
    completed = await complete(stage, prepared, text_of(HashSigner(signer).sign(prepared)), terms)
    return {"paymentPayload": completed["paymentPayload"], "paymentRequirements": terms}


def text_of(raw: bytes) -> str:
    """The base64 of some bytes."""
    return base64.b64encode(raw).decode()


def code_of(answer: Answer) -> str:
    """The code of an error response."""
    assert answer.status >= 400, answer.body
    return str(answer.json()["error"]["code"])
