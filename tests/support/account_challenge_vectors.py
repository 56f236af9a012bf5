"""The vectors of the console's reader of SEP-10 challenges, in the form that the service issues.

`python -m support.account_challenge_vectors` (with `tests` on the path) prints them.
"""

import base64
import json
import sys
from typing import Final

from stellar_sdk import Asset as SdkAsset
from stellar_sdk import (
    Keypair,
    ManageData,
    Memo,
    Operation,
    Payment,
    TextMemo,
)

from farebox.accounts.signed_challenge import ChallengeTerms, read_signed_challenge
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from support.challenges import challenge_by_hand

_SERVICE: Final = Keypair.from_raw_ed25519_seed(bytes(range(32)))
_OWNER: Final = Keypair.from_raw_ed25519_seed(bytes(range(32, 64)))
_OTHER: Final = Keypair.from_raw_ed25519_seed(bytes(range(64, 96)))
_DOMAIN: Final = "localhost"  # as the console in front of a local service is asked to sign in
_NONCE: Final = base64.b64encode(bytes(range(48)))
_START: Final = 1_800_000_000
_LIFE_S: Final = 300
TERMS: Final = ChallengeTerms(Network.TESTNET, Address(_SERVICE.public_key), _DOMAIN)


def _account_operation(
    *, name: str = f"{_DOMAIN} auth", value: bytes = _NONCE, source: Keypair = _OWNER
) -> Operation:
    return ManageData(name, value, source=source.public_key)


def _domain_operation(
    *, name: str = "web_auth_domain", value: str = _DOMAIN, source: Keypair = _SERVICE
) -> Operation:
    return ManageData(name, value, source=source.public_key)


def _document(
    *operations: Operation,
    sequence: int = 0,
    source: str = _SERVICE.public_key,
    signers: tuple[Keypair, ...] = (_SERVICE,),
    bounds: tuple[int, int] | None = (_START, _START + _LIFE_S),
    memo: Memo | None = None,
) -> str:
    """A transaction of these operations, of a challenge's own without any."""
    return challenge_by_hand(
        *signers,
        source=source,
        sequence=sequence,
        operations=list(operations or (_account_operation(), _domain_operation())),
        bounds=bounds,
        change=lambda builder: builder if memo is None else builder.add_memo(memo),
    ).to_xdr()


def _refused() -> dict[str, str]:
    """What no wallet may sign for a sign-in, by what is wrong with it."""
    payment = Payment(_OTHER.public_key, SdkAsset.native(), "1000", source=_OWNER.public_key)
    ours = _domain_operation()
    return {
        "a sequence number that the network takes": _document(sequence=1),
        "a negative sequence number": _document(sequence=-1),
        "a transaction of the account itself": _document(source=_OWNER.public_key),
        "a transaction of another account": _document(source=_OTHER.public_key),
        "a payment": _document(payment, ours),
        "a payment behind the challenge": _document(_account_operation(), ours, payment),
        "another account": _document(_account_operation(source=_OTHER), ours),
        "another home domain": _document(_account_operation(name="evil.example auth"), ours),
        "a name without its end": _document(_account_operation(name=_DOMAIN), ours),
        "a short nonce": _document(_account_operation(value=_NONCE[:63]), ours),
        "another web-auth domain": _document(
            _account_operation(), _domain_operation(value="evil.example")
        ),
        "data of the account": _document(_account_operation(), _domain_operation(source=_OWNER)),
        "other data of the service": _document(
            _account_operation(), _domain_operation(name="client_domain")
        ),
        "one operation": _document(_account_operation()),
        "no time bounds": _document(bounds=None),
        "no end": _document(bounds=(_START, 0)),
        "a life of a day": _document(bounds=(_START, _START + 86_400)),
        "a memo": _document(memo=TextMemo("pay")),
        "no signature": _document(signers=()),
        "the signature of another account": _document(signers=(_OTHER,)),
        "a second signature": _document(signers=(_SERVICE, _OWNER)),
        "bytes behind the end": base64.b64encode(base64.b64decode(_document()) + bytes(4)).decode(),
        "no bytes": "",
        "no base64": "a challenge",
    }


def account_challenge_vectors() -> bytes:
    """Serialize the vectors; every document is base64."""
    issued = _document()
    if read_signed_challenge(issued, TERMS) is None:
        raise ValueError("the service does not take back what the console is tested with")
    vectors = {
        "expected": {
            "address": _OWNER.public_key,
            "networkPassphrase": Network.TESTNET.passphrase,
            "homeDomain": _DOMAIN,
            "webAuthDomain": _DOMAIN,
            "signingKey": _SERVICE.public_key,
        },
        "issued": {"document": issued, "endsAt": _START + _LIFE_S},
        "refused": [{"name": name, "document": text} for name, text in _refused().items()],
    }
    return json.dumps(vectors, indent=1).encode() + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(account_challenge_vectors())
