"""Transactions that put a contract's code on the ledger, and an instance of it."""

import hashlib
from dataclasses import dataclass, field
from typing import Final

from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network
from farebox.stellar.invocations import Invocation, write_invocation
from farebox.stellar.scval import ScValue
from farebox.stellar.scval_writer import write_value
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import (
    SignedTransaction,
    UnsignedTransaction,
    sign,
    transaction_head,
    unsigned_envelope,
)
from farebox.stellar.xdr_writer import opaque, sc_address

_CONTRACT_ID: Final = (8).to_bytes(4, "big")  # ENVELOPE_TYPE_CONTRACT_ID
_NONE: Final = bytes(4)
_ONE: Final = (1).to_bytes(4, "big")
_FROM_ADDRESS: Final = bytes(4)  # ContractIDPreimageType
_WASM: Final = bytes(4)  # ContractExecutableType
_SOURCE_ACCOUNT: Final = bytes(4)  # SorobanCredentialsType
# HostFunctionType and SorobanAuthorizedFunctionType
_CREATE: Final = (1).to_bytes(4, "big"), (1).to_bytes(4, "big")
_CREATE_WITH_ARGUMENTS: Final = (3).to_bytes(4, "big"), (2).to_bytes(4, "big")
_INVOKE_CONTRACT: Final = bytes(4)
_UPLOAD: Final = (2).to_bytes(4, "big")
_INVOKE_HOST_FUNCTION: Final = (24).to_bytes(4, "big")
_CONTRACT_CODE: Final = (7).to_bytes(4, "big")  # LedgerEntryType


@dataclass(frozen=True, slots=True)
class HostCall:
    """A host function (XDR) and its authorization by the transaction's source."""

    function: bytes = field(repr=False)
    authorized: bytes = field(repr=False)


def upload_code(wasm: bytes) -> HostCall:
    """Upload the code to the ledger."""
    return HostCall(_UPLOAD + opaque(wasm), _NONE)


def create_contract(
    deployer: Address, wasm_hash: bytes, salt: bytes, arguments: tuple[ScValue, ...] = ()
) -> HostCall:
    """Create a contract of this code at `contract_of` the same; `arguments` of its constructor."""
    created = _preimage(deployer, salt) + _WASM + wasm_hash
    function, authorized_function = _CREATE
    if arguments:
        function, authorized_function = _CREATE_WITH_ARGUMENTS
        listed = b"".join(map(write_value, arguments))
        created += len(arguments).to_bytes(4, "big") + listed
    authorized = _ONE + _SOURCE_ACCOUNT + authorized_function + created + _NONE
    return HostCall(function + created, authorized)


def contract_of(network: Network, deployer: Address, salt: bytes) -> Address:
    """The address of the contract that `deployer` (G…) makes with this salt of 32 bytes."""
    named = _CONTRACT_ID + network.id + _preimage(deployer, salt)
    return contract_address(hashlib.sha256(named).digest())


def invoke_contract(invocation: Invocation) -> HostCall:
    """Call a contract; the source authorizes the call and those below it."""
    function = _INVOKE_CONTRACT + invocation.call
    return HostCall(function, _ONE + _SOURCE_ACCOUNT + write_invocation(invocation))


def code_key(wasm_hash: bytes) -> bytes:
    """The ledger key (XDR) of code."""
    return _CONTRACT_CODE + wasm_hash


def dry_run(call: HostCall, source: Address) -> str:
    """The transaction before it has bounds, fee and resources, in base64 and unsigned."""
    return unsigned_envelope(_body(call), source=source, sequence=1)


def sign_call(
    network: Network,
    source: SigningAccount,
    call: HostCall,
    *,
    sequence: int,
    fee: int,
    max_time: int,
    soroban_data: bytes,
) -> SignedTransaction:
    """The transaction as it is sent; `fee` in stroops, the resource fee included."""
    head = transaction_head(source.address, fee=fee, sequence=sequence, max_time=max_time)
    unsigned = UnsignedTransaction(head + _body(call) + _ONE + soroban_data)
    return sign(unsigned, source.key, network.id)


def _body(call: HostCall) -> bytes:
    """No memo, and the one operation."""
    return _NONE + _ONE + _NONE + _INVOKE_HOST_FUNCTION + call.function + call.authorized


def _preimage(deployer: Address, salt: bytes) -> bytes:
    if len(salt) != 32:
        raise ValueError("a salt has 32 bytes")
    return _FROM_ADDRESS + sc_address(deployer) + salt
