"""Signatures judged against the signers of an account: each counts once, up to the threshold."""

from collections.abc import Mapping

import pytest
from stellar_sdk import Keypair

from farebox.accounts.account_signers import AccountSigners, SignatureVerdict, judge_signatures
from farebox.kernel.addresses import Address, raw_key

DIGEST = bytes(range(32))
SERVER, ANN, BOB, EVE = (Keypair.from_raw_ed25519_seed(bytes([n]) * 32) for n in (9, 1, 2, 3))


def _signature(key: Keypair, digest: bytes = DIGEST) -> tuple[bytes, bytes]:
    return key.signature_hint(), key.sign(digest)


def _judge(
    weights: Mapping[Keypair, int], medium: int, *signatures: tuple[bytes, bytes]
) -> SignatureVerdict:
    signers = {raw_key(Address(key.public_key)): weight for key, weight in weights.items()}
    return judge_signatures(
        DIGEST,
        signatures,
        server=Address(SERVER.public_key),
        signers=AccountSigners(signers, medium),
    )


OURS, ANNS, BOBS, EVES = (_signature(key) for key in (SERVER, ANN, BOB, EVE))


@pytest.mark.parametrize(
    ("weights", "medium", "signatures", "verdict"),
    [
        ({ANN: 1}, 0, [OURS, ANNS], SignatureVerdict.SUFFICIENT),
        ({ANN: 1}, 0, [ANNS, OURS], SignatureVerdict.SUFFICIENT),
        ({ANN: 1}, 0, [OURS], SignatureVerdict.BELOW_THRESHOLD),
        ({}, 0, [OURS], SignatureVerdict.BELOW_THRESHOLD),
        ({ANN: 1}, 0, [ANNS], SignatureVerdict.NO_SERVER_SIGNATURE),
        ({ANN: 1}, 0, [], SignatureVerdict.NO_SERVER_SIGNATURE),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS], SignatureVerdict.BELOW_THRESHOLD),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS, BOBS], SignatureVerdict.SUFFICIENT),
        ({ANN: 255, BOB: 1}, 255, [OURS, BOBS, ANNS], SignatureVerdict.SUFFICIENT),
        ({ANN: 1, BOB: 1}, 2, [OURS, ANNS, ANNS], SignatureVerdict.UNKNOWN_SIGNATURE),
        ({ANN: 1}, 0, [OURS, OURS, ANNS], SignatureVerdict.UNKNOWN_SIGNATURE),
        ({ANN: 1}, 0, [OURS, ANNS, EVES], SignatureVerdict.UNKNOWN_SIGNATURE),
        ({ANN: 1}, 0, [OURS, EVES], SignatureVerdict.UNKNOWN_SIGNATURE),
        # the service never speaks for an account, even where it is a signer of it
        ({ANN: 1, SERVER: 1}, 2, [OURS, ANNS], SignatureVerdict.BELOW_THRESHOLD),
        ({SERVER: 1}, 1, [OURS], SignatureVerdict.BELOW_THRESHOLD),
        ({SERVER: 1}, 1, [OURS, OURS], SignatureVerdict.UNKNOWN_SIGNATURE),
        # a right signature under a wrong hint, and a right hint over wrong words
        ({ANN: 1}, 0, [OURS, (BOB.signature_hint(), ANNS[1])], SignatureVerdict.UNKNOWN_SIGNATURE),
        ({ANN: 1}, 0, [OURS, _signature(ANN, bytes(32))], SignatureVerdict.UNKNOWN_SIGNATURE),
        (
            {ANN: 1},
            0,
            [OURS, (ANN.signature_hint(), bytes(64))],
            SignatureVerdict.UNKNOWN_SIGNATURE,
        ),
    ],
)
def test_judge_signatures_needs_the_server_and_enough_weight(
    weights: dict[Keypair, int],
    medium: int,
    signatures: list[tuple[bytes, bytes]],
    verdict: SignatureVerdict,
) -> None:
    assert _judge(weights, medium, *signatures) is verdict
