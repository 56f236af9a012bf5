"""Contract events as a node gives them with a simulation: base64 of DiagnosticEvent XDR."""

from stellar_sdk import Address, StrKey, scval, xdr

Kind = xdr.ContractEventType


def event(
    contract: str | None,
    *topics: xdr.SCVal,
    data: xdr.SCVal,
    kind: xdr.ContractEventType = Kind.CONTRACT,
    is_successful: bool = True,
) -> str:
    """Any event of any contract, or of none."""
    body = xdr.ContractEventBody(0, v0=xdr.ContractEventV0(list(topics), data))
    contract_id = None
    if contract is not None:
        contract_id = xdr.ContractID(xdr.Hash(StrKey.decode_contract(contract)))
    held = xdr.ContractEvent(xdr.ExtensionPoint(0), contract_id, kind, body)
    return xdr.DiagnosticEvent(is_successful, held).to_xdr()


def transfer_event(
    contract: str | None, sender: str, recipient: str, data: int | xdr.SCVal, *more: xdr.SCVal
) -> str:
    """A transfer as the token interface words it; `more` are topics after the third."""
    return event(
        contract,
        scval.to_symbol("transfer"),
        Address(sender).to_xdr_sc_val(),
        Address(recipient).to_xdr_sc_val(),
        *more,
        data=scval.to_int128(data) if isinstance(data, int) else data,
    )


def with_mux_id(amount: int, mux_id: int) -> xdr.SCVal:
    """The data of a transfer to a muxed recipient."""
    return scval.to_map(
        {
            scval.to_symbol("amount"): scval.to_int128(amount),
            scval.to_symbol("to_muxed_id"): scval.to_uint64(mux_id),
        }
    )
