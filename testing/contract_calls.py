"""Contract calls and their values, by the public SDK: nothing here is Farebox's own code."""

from typing import Final

from stellar_sdk import Address, scval, xdr

ZERO_ACCOUNT: Final = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"


def address(text: str) -> xdr.SCAddress:
    """A G…, C…, M…, B… or L… address as the contract host sees it."""
    return Address(text).to_xdr_sc_address()


def address_value(text: str) -> xdr.SCVal:
    """An address as an argument."""
    return scval.to_address(text)


def amount_value(amount: int) -> xdr.SCVal:
    """An i128 argument."""
    return scval.to_int128(amount)


def invoke(
    contract: xdr.SCAddress, function: str | bytes, *args: xdr.SCVal
) -> xdr.InvokeContractArgs:
    """A call of any function with any arguments; bytes name a function that is not UTF-8."""
    name = function.encode() if isinstance(function, str) else function
    return xdr.InvokeContractArgs(contract, xdr.SCSymbol(name), list(args))


def transfer(asset: str, payer: str, pay_to: str, amount: int) -> xdr.InvokeContractArgs:
    """The call an x402 payment is: transfer(from, to, amount)."""
    return invoke(
        address(asset),
        "transfer",
        address_value(payer),
        address_value(pay_to),
        amount_value(amount),
    )


def invocation(
    call: xdr.InvokeContractArgs, *below: xdr.SorobanAuthorizedInvocation
) -> xdr.SorobanAuthorizedInvocation:
    """A node of an authorization tree: the call and what is authorized below it."""
    return xdr.SorobanAuthorizedInvocation(
        xdr.SorobanAuthorizedFunction(
            xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
            contract_fn=call,
        ),
        list(below),
    )


def nested_vector(depth: int) -> bytes:
    """The bytes of a vector in a vector in a vector…, `depth` levels, empty at the bottom.

    Written by hand, because the SDK refuses to pack or read it at depths that matter here.
    """
    vector = (16).to_bytes(4) + (1).to_bytes(4)  # SCV_VEC, present
    return (vector + (1).to_bytes(4)) * (depth - 1) + vector + (0).to_bytes(4)


def wide_vector(elements: int) -> xdr.SCVal:
    """A vector of that many voids, four bytes each."""
    return scval.to_vec([scval.to_void()] * elements)
