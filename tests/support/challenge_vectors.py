"""The vectors of the console's reader of SEP-45 challenges, made by the code that issues them.

`python -m support.challenge_vectors` (with `tests` on the path) prints them.
"""

import base64
import hashlib
import json
import sys
from typing import Any, Final

from nacl.signing import SigningKey

from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import authorization_preimage, read_entry
from farebox.stellar.entry_writer import unsigned_entry, with_signature
from farebox.stellar.scval import ScKind
from farebox.stellar.signers import SigningAccount
from farebox.stellar.web_auth import build_call, join_entries, signed_entry
from farebox.stellar.xdr_writer import opaque, uint32

_ACCOUNT: Final = contract_address(bytes(range(32)))
_CONTRACT: Final = contract_address(bytes(range(32, 64)))
_KEY: Final = SigningKey(bytes(range(32)))
_SERVICE: Final = SigningAccount(account_address(bytes(_KEY.verify_key)), Secret(_KEY))
_NONCE: Final = -1_234_567_890_123
_EXPIRY: Final = 54_321_060
_SIGNATURE: Final = bytes(range(64))


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _arguments(account: Address, **others: str) -> dict[str, str]:
    return {
        "account": account,
        "home_domain": "pay.example.com",
        "nonce": "N" * 43,
        "web_auth_domain": "pay.example.com",
        "web_auth_domain_account": _SERVICE.address,
        **others,
    }


def _document(call: bytes, *, account: Address = _ACCOUNT, service_call: bytes = b"") -> bytes:
    theirs = unsigned_entry(account, nonce=_NONCE, expires_at_ledger=_EXPIRY, call=call)
    ours = signed_entry(
        _SERVICE,
        nonce=7,
        expires_at_ledger=_EXPIRY,
        call=service_call or call,
        network_id=Network.TESTNET.id,
    )
    return join_entries([theirs, ours])


def _issued() -> dict[str, Any]:
    """A challenge, what a wallet is to sign of it, and the signed form."""
    call = build_call(_CONTRACT, _arguments(_ACCOUNT))
    document = _document(call)
    entry = read_entry(unsigned_entry(_ACCOUNT, nonce=_NONCE, expires_at_ledger=_EXPIRY, call=call))
    signature = uint32(ScKind.BYTES) + opaque(_SIGNATURE)
    rest = document[4 + len(entry.raw) :]
    preimage = authorization_preimage(entry, Network.TESTNET.id)
    return {
        "document": _text(document),
        "preimage": _text(preimage),
        "preimageSha256": hashlib.sha256(preimage).hexdigest(),
        "signatureValue": _text(signature),
        "signature": _text(_SIGNATURE),
        "signed": _text(uint32(2) + with_signature(entry, signature) + rest),
    }


def _refused() -> dict[str, bytes]:
    call = build_call(_CONTRACT, _arguments(_ACCOUNT))
    document = _document(call)
    other = account_address(bytes(32))
    entry = unsigned_entry(_ACCOUNT, nonce=_NONCE, expires_at_ledger=_EXPIRY, call=call)
    return {
        "another account": _document(
            build_call(_CONTRACT, _arguments(_CONTRACT)), account=_CONTRACT
        ),
        "an argument of another account": _document(build_call(_CONTRACT, _arguments(_CONTRACT))),
        "another home domain": _document(
            build_call(_CONTRACT, _arguments(_ACCOUNT, home_domain="evil.example"))
        ),
        "another web-auth domain": _document(
            build_call(_CONTRACT, _arguments(_ACCOUNT, web_auth_domain="evil.example"))
        ),
        "another signing account": _document(
            build_call(_CONTRACT, _arguments(_ACCOUNT, web_auth_domain_account=other))
        ),
        "a further argument": _document(
            build_call(_CONTRACT, _arguments(_ACCOUNT, client_domain="wallet.example"))
        ),
        "another function": document.replace(b"web_auth_verify", b"web_auth_veriff"),
        "another call of the service's entry": _document(
            call, service_call=build_call(_CONTRACT, _arguments(_CONTRACT))
        ),
        "one entry": join_entries([entry]),
        "three entries": join_entries([entry, entry, entry]),
        "bytes behind the end": document + bytes(4),
        "no bytes": b"",
    }


def challenge_vectors() -> bytes:
    """Serialize the vectors; every document is base64."""
    vectors = {
        "expected": {
            "address": _ACCOUNT,
            "networkPassphrase": Network.TESTNET.passphrase,
            "homeDomain": "pay.example.com",
            "webAuthDomain": "pay.example.com",
            "signingKey": _SERVICE.address,
        },
        "issued": _issued(),
        "refused": [{"name": name, "document": _text(raw)} for name, raw in _refused().items()],
    }
    return json.dumps(vectors, indent=1).encode() + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(challenge_vectors())
