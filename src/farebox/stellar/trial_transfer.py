"""A transfer of one stroop from an account to itself, for nothing but a simulation."""

from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import native_contract
from farebox.stellar.contract_operations import HostCall, dry_run
from farebox.stellar.scval import ScKind
from farebox.stellar.transfer_envelope import TRANSFER

_INVOKE_CONTRACT: Final = bytes(4)  # HostFunctionType
_ONE: Final = (1).to_bytes(4, "big")
_SOURCE_ACCOUNT: Final = bytes(4)  # SorobanCredentialsType
_CONTRACT_FUNCTION: Final = bytes(4)  # SorobanAuthorizedFunctionType
_NO_CALLS: Final = bytes(4)


def trial_transfer(network: Network, account: Address) -> str:
    """The envelope (base64) of a native transfer by `account` (G…), authorized as its source."""
    party = _uint32(ScKind.ADDRESS) + _account(account)
    amount = _uint32(ScKind.I128) + (1).to_bytes(16, "big")
    arguments = _uint32(3) + party + party + amount
    called = (
        _ONE + raw_key(native_contract(network)) + _uint32(len(TRANSFER)) + TRANSFER + arguments
    )
    authorized = _ONE + _SOURCE_ACCOUNT + _CONTRACT_FUNCTION + called + _NO_CALLS
    return dry_run(HostCall(_INVOKE_CONTRACT + called, authorized), account)


def _account(account: Address) -> bytes:
    return bytes(8) + raw_key(account)  # SC_ADDRESS_TYPE_ACCOUNT, PUBLIC_KEY_TYPE_ED25519


def _uint32(value: int) -> bytes:
    return int(value).to_bytes(4, "big")
