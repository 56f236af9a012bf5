"""The data of ledger entries of contracts, by their keys."""

from stellar_sdk import xdr

from farebox.kernel.addresses import Address
from farebox.stellar.contract_instance import instance_key


def contract_value(key: bytes, value: xdr.SCVal) -> bytes:
    """The entry of contract data under a key (XDR)."""
    return key[:4] + bytes(4) + key[4:] + value.to_xdr_bytes()


def contract_instance(contract: Address, wasm_hash: bytes) -> bytes:
    """The instance of a contract that runs the code of this hash."""
    code = xdr.ContractExecutable(
        xdr.ContractExecutableType.CONTRACT_EXECUTABLE_WASM, wasm_hash=xdr.Hash(wasm_hash)
    )
    instance = xdr.SCContractInstance(code, None)
    value = xdr.SCVal(xdr.SCValType.SCV_CONTRACT_INSTANCE, instance=instance)
    return contract_value(instance_key(contract), value)
