"""The call of a token's `balance`, which fails for a holder that cannot hold the token (SEP-41)."""

from collections.abc import Mapping
from typing import Final

from farebox.kernel.addresses import ZERO_ACCOUNT, Address
from farebox.stellar.contract_operations import HostCall, dry_run
from farebox.stellar.returned_value import read_returned_value
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.xdr_writer import address_value, contract_call

_MAX_RETURNED_BYTES: Final = 64  # an i128 takes 20
_INVOKE_CONTRACT: Final = bytes(4)  # HostFunctionType
_NO_AUTHORIZATION: Final = bytes(4)


def balance_envelope(token: Address, holder: Address) -> str:
    """Build the unsigned envelope that simulates `balance(holder)`, in base64.

    The contract of a classic asset fails for an account that does not exist or has no trustline
    for the asset (CAP-46-6). Every token succeeds for a contract.
    """
    call = contract_call(token, b"balance", address_value(holder))
    return dry_run(HostCall(_INVOKE_CONTRACT + call, _NO_AUTHORIZATION), ZERO_ACCOUNT)


def read_returned_balance(result: Mapping[str, object]) -> int | None:
    """The amount that a simulated `balance` returned, in base units; None for any other value.

    `result` is the result member of the simulation, which succeeded.
    """
    value = read_returned_value(result, max_bytes=_MAX_RETURNED_BYTES)
    is_amount = isinstance(value, ScNumber) and value.kind is ScKind.I128 and value.value >= 0
    return value.value if isinstance(value, ScNumber) and is_amount else None
