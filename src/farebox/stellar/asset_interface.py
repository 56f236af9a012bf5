"""The functions of the asset contract, which has no code that describes them (CAP-46-6, SEP-41)."""

from types import MappingProxyType
from typing import Final

from farebox.stellar.contract_interface import (
    ContractFunction,
    ContractInterface,
    FunctionInput,
)
from farebox.stellar.spec_types import PlainType, SpecType

_ADDRESS: Final = PlainType("Address")
_I128: Final = PlainType("i128")


def _function(name: str, output: SpecType | None = None, **inputs: SpecType) -> ContractFunction:
    parameters = tuple(FunctionInput(each, form) for each, form in inputs.items())
    return ContractFunction(name, parameters, output)


# those of a holder of the token; an issuer's own functions are left out
ASSET_INTERFACE: Final = ContractInterface(
    (
        _function("allowance", _I128, **{"from": _ADDRESS, "spender": _ADDRESS}),
        _function(
            "approve",
            **{
                "from": _ADDRESS,
                "spender": _ADDRESS,
                "amount": _I128,
                "expiration_ledger": PlainType("u32"),
            },
        ),
        _function("balance", _I128, id=_ADDRESS),
        _function("burn", **{"from": _ADDRESS, "amount": _I128}),
        _function("burn_from", **{"spender": _ADDRESS, "from": _ADDRESS, "amount": _I128}),
        _function("decimals", PlainType("u32")),
        _function("name", PlainType("String")),
        _function("symbol", PlainType("String")),
        _function(
            "transfer",
            **{"from": _ADDRESS, "to": PlainType("MuxedAddress"), "amount": _I128},
        ),
        _function(
            "transfer_from",
            **{"spender": _ADDRESS, "from": _ADDRESS, "to": _ADDRESS, "amount": _I128},
        ),
    ),
    MappingProxyType({}),
)
