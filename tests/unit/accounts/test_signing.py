"""Signatures against signers: who counts, once, and what must be reached."""

from collections.abc import Mapping

import pytest
from stellar_sdk import Keypair

from farebox.accounts.signing import Said, judge_signatures
from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.account_signers import AccountSigners

DIGEST = bytes(range(32))
SERVER, ANN, BOB, EVE = (Keypair.from_raw_ed25519_seed(bytes([n]) * 32) for n in (9, 1, 2, 3))


def _signature(key: Keypair, digest: bytes = DIGEST) -> tuple[bytes, bytes]:
    return key.signature_hint(), key.sign(digest)


def _said(weights: Mapping[Keypair, int], medium: int, *signatures: tuple[bytes, bytes]) -> Said:
    signers = {raw_key(Address(key.public_key)): weight for key, weight in weights.items()}
    return judge_signatures(
        DIGEST,
        signatures,
        server=Address(SERVER.public_key),
        signers=AccountSigners(signers, medium),
    )


OURS, ANNS, BOBS, EVES = (_signature(key) for key in (SERVER, ANN, BOB, EVE))


@pytest.mark.parametrize(
    ("weights", "medium", "signatures", "said"),
    [
        ({ANN: 1}, 0, [OURS, ANNS], Said.ENOUGH),
        ({ANN: 1}, 0, [ANNS, OURS], Said.ENOUGH),
        ({ANN: 1}, 0, [OURS], Said.TOO_LIGHT),
        ({}, 0, [OURS], Said.TOO_LIGHT),
        ({ANN: 1}, 0, [ANNS], Said.NOT_OURS),
        ({ANN: 1}, 0, [], Said.NOT_OURS),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS], Said.TOO_LIGHT),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS, BOBS], Said.ENOUGH),
        ({ANN: 255, BOB: 1}, 255, [OURS, BOBS, ANNS], Said.ENOUGH),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS, ANNS], Said.STRANGE),
        ({ANN: 1}, 0, [OURS, OURS, ANNS], Said.STRANGE),
        ({ANN: 1}, 0, [OURS, ANNS, EVES], Said.STRANGE),
        ({ANN: 1}, 0, [OURS, EVES], Said.STRANGE),
        # the service never speaks for an account, even where it is a signer of it
        ({ANN: 1, SERVER: 1}, 2, [OURS, ANNS], Said.TOO_LIGHT),
        ({SERVER: 1}, 1, [OURS], Said.TOO_LIGHT),
        ({SERVER: 1}, 1, [OURS, OURS], Said.STRANGE),
        # a right signature under a wrong hint, and a right hint over wrong words
        ({ANN: 1}, 0, [OURS, (BOB.signature_hint(), ANNS[1])], Said.STRANGE),
        ({ANN: 1}, 0, [OURS, _signature(ANN, bytes(32))], Said.STRANGE),
        ({ANN: 1}, 0, [OURS, (ANN.signature_hint(), bytes(64))], Said.STRANGE),
    ],
)
def test_what_signatures_come_to(
    weights: dict[Keypair, int], medium: int, signatures: list[tuple[bytes, bytes]], said: Said
) -> None:
    assert _said(weights, medium, *signatures) is said
