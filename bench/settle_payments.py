"""Many distinct signed payments quickly: one is built by the public SDK, the others are its copies.

A copy differs in the payer's key, the nonce, the last ledger and the signature, all of fixed size,
so it is made by replacing bytes; about 60 microseconds each.
"""

import asyncio
import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final, Self

from nacl.signing import SigningKey
from stellar_sdk import Keypair, SorobanServer, TransactionEnvelope, xdr

from bench.payloads import Terms, signed_transfer, verify_body
from farebox.kernel.networks import Network
from farebox.local.devnet import Scene
from testing.machine import RunFailed

LIFE_LEDGERS: Final = 600
MAX_TIMEOUT_S: Final = 3600
_SIGNATURE_BYTES: Final = 64
_PREIMAGE: Final = (9).to_bytes(4, "big")  # ENVELOPE_TYPE_SOROBAN_AUTHORIZATION

Identity = tuple[bytes, int]  # the payer's key and the nonce: no two payments share both


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment and the request that settles it."""

    identity: Identity
    body: bytes


@dataclass(frozen=True, slots=True)
class PaymentFactory:
    """Creates payments of the same terms by the payers of a scene, each in turn."""

    terms: Terms
    payers: tuple[SigningKey, ...]
    raw: bytes
    invocation: bytes
    key: bytes
    nonce: bytes
    expiry: bytes
    signature: bytes

    @classmethod
    async def open(cls, rpc_url: str, scene: Scene, *, payers: int) -> Self:
        """Build and simulate the first payer's payment, and use it as a template."""
        terms = Terms(scene.asset, scene.payees[0].address, 10_000, MAX_TIMEOUT_S)
        keypairs = [Keypair.from_secret(each.secret.reveal()) for each in scene.payers[:payers]]
        envelope = await asyncio.to_thread(_first, rpc_url, keypairs[0], terms)
        entry = envelope.transaction.operations[0].to_xdr_object().body.invoke_host_function_op
        credentials = entry.auth[0].credentials.address if entry is not None else None
        if entry is None or credentials is None or credentials.signature.vec is None:
            raise RunFailed("the first payment holds no signed authorization")
        return cls(
            terms=terms,
            payers=tuple(SigningKey(each.raw_secret_key()) for each in keypairs),
            raw=envelope.to_xdr_object().to_xdr_bytes(),
            invocation=entry.auth[0].root_invocation.to_xdr_bytes(),
            key=keypairs[0].raw_public_key(),
            nonce=credentials.nonce.to_xdr_bytes(),
            expiry=credentials.signature_expiration_ledger.to_xdr_bytes(),
            signature=_only_signature(credentials.signature),
        )

    def payments(self, count: int, *, now: int) -> list[Payment]:
        """Sign `count` new payments, valid for `LIFE_LEDGERS` from ledger `now` on."""
        expiry = (now + LIFE_LEDGERS).to_bytes(4, "big")
        return [self._payment(self.payers[i % len(self.payers)], expiry) for i in range(count)]

    def _payment(self, payer: SigningKey, expiry: bytes) -> Payment:
        nonce = secrets.token_bytes(8)
        key = payer.verify_key.encode()
        invocation = self.invocation.replace(self.key, key)
        signed = b"".join((_PREIMAGE, Network.TESTNET.id, nonce, expiry, invocation))
        signature = payer.sign(hashlib.sha256(signed).digest()).signature
        raw = self.raw.replace(self.nonce + self.expiry, nonce + expiry)
        raw = raw.replace(self.nonce, nonce).replace(self.key, key)
        raw = raw.replace(self.signature, signature)
        transaction = base64.b64encode(raw).decode()
        identity = key, int.from_bytes(nonce, "big", signed=True)
        return Payment(identity, verify_body(transaction, self.terms))


def _first(rpc_url: str, payer: Keypair, terms: Terms) -> TransactionEnvelope:
    with SorobanServer(rpc_url) as server:
        expires = server.get_latest_ledger().sequence + LIFE_LEDGERS
        signed = signed_transfer(server, payer, terms, expires_at_ledger=expires)
    return TransactionEnvelope.from_xdr(signed, Network.TESTNET.passphrase)


def _only_signature(signature: xdr.SCVal) -> bytes:
    signers = signature.vec.sc_vec if signature.vec is not None else []
    pairs = signers[0].map.sc_map if len(signers) == 1 and signers[0].map is not None else []
    found = [pair.val.bytes.sc_bytes for pair in pairs if pair.val.bytes is not None]
    return next(each for each in found if len(each) == _SIGNATURE_BYTES)
