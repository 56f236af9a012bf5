"""The vectors of the console's reader of revocations, made by the code that plans them.

`python -m support.revocation_vectors` (with `tests` on the path) prints them.
"""

import base64
import json
import sys
from dataclasses import replace
from typing import Any, Final

from farebox.automation.authority.installation import close_session, revoke_mandate
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.addresses import Address
from farebox.stellar.auth_entries import read_entry
from farebox.stellar.invocations import Invocation, write_invocation
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from farebox.stellar.transactions import AuthorizedCall, build_settlement, unsigned_bytes
from support.plans import OWNER, PAYEES, USDC, WALLET, contract
from support.run_vectors import LEGS

_GUARD: Final = contract(31)
_MANDATE: Final = contract(35)
_POLICY: Final = PolicyId(bytes(range(100, 132)))
_SPEC: Final = replace(LEGS, account=OWNER, mode=AuthorityMode.SESSION)
_SOURCE_ACCOUNT: Final = bytes(4)
_RESOURCES: Final = bytes(20) + (54_321).to_bytes(8, "big")  # no footprint, and a resource fee
_FEE: Final = 123_456
_SEQUENCE: Final = 987_654_321
_END: Final = 1_800_000_600
_CLOSE: Final = close_session(_SPEC, _POLICY, _GUARD)


def _document(
    tree: Invocation = _CLOSE,
    *,
    authorized: Invocation | None = None,
    source: Address = OWNER,
    fee: int = _FEE,
    sequence: int = _SEQUENCE,
    end: int = _END,
    entries: int = 1,
) -> bytes:
    """The envelope of a call that its source authorizes, as `OwnerTransactions` builds it."""
    entry = read_entry(_SOURCE_ACCOUNT + write_invocation(authorized or tree))
    unsigned = build_settlement(
        AuthorizedCall(tree.call, (entry,) * entries),
        source=source,
        sequence=sequence,
        fee=fee,
        max_time=end,
        soroban_data=_RESOURCES,
    )
    return unsigned_bytes(unsigned)


def _transfer() -> Invocation:
    amount = ScNumber(ScKind.I128, 1_000)
    return Invocation(USDC, "transfer", (address_of(OWNER), address_of(PAYEES[0]), amount))


def _refused() -> dict[str, bytes]:
    """What no wallet may sign to revoke the session, by what is wrong with it."""
    issued = _document()
    return {
        "a transfer": _document(_transfer()),
        "a transfer below the call": _document(replace(_CLOSE, nested=(_transfer(),))),
        "the authorization of a transfer": _document(authorized=_transfer()),
        "a second authorization": _document(entries=2),
        "no authorization": _document(entries=0),
        "another contract": _document(close_session(_SPEC, _POLICY, contract(36))),
        "another function": _document(replace(_CLOSE, function="reopen")),
        "another policy": _document(close_session(_SPEC, PolicyId(bytes(32)), _GUARD)),
        "another account's session": _document(
            close_session(replace(_SPEC, account=WALLET), _POLICY, _GUARD)
        ),
        "another source": _document(source=PAYEES[0]),
        "a fee of 42 XLM": _document(fee=420_000_000),
        "no sequence number": _document(sequence=0),
        "no end": _document(end=0),
        "a signature": issued[:-4] + bytes([0, 0, 0, 1]),
        "bytes behind the end": issued + b"\0\0\0\1",
        "no bytes": b"",
    }


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _expected(mode: AuthorityMode, at: Address) -> dict[str, str]:
    return {
        "mode": mode.value,
        "account": OWNER,
        "policyId": _POLICY.hex(),
        "contract": at,
    }


def revocation_vectors() -> bytes:
    """Serialize the vectors; every transaction is base64."""
    mandate = revoke_mandate(_SPEC, _MANDATE)
    issued: list[dict[str, Any]] = [
        {"expected": _expected(AuthorityMode.SESSION, _GUARD), "xdr": _text(_document())},
        {
            "expected": _expected(AuthorityMode.MANDATE, _MANDATE),
            "xdr": _text(_document(mandate[0])),
        },
    ]
    vectors = {
        "fee": "0.0123456 XLM",
        "endsAt": _END,
        "issued": issued,
        "refused": [{"name": name, "xdr": _text(raw)} for name, raw in _refused().items()],
    }
    return json.dumps(vectors, indent=1).encode() + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(revocation_vectors())
