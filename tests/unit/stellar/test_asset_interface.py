"""The asset contract's functions, against the calls that the public SDK makes of them."""

from farebox.stellar.asset_interface import ASSET_INTERFACE


def test_functions_of_a_holder_are_those_of_the_standard() -> None:
    shown = {
        function.name: (
            [(each.name, str(each.type)) for each in function.inputs],
            None if function.output is None else str(function.output),
        )
        for function in ASSET_INTERFACE.functions
    }
    assert shown["transfer"] == (
        [("from", "Address"), ("to", "MuxedAddress"), ("amount", "i128")],
        None,
    )
    assert shown["balance"] == ([("id", "Address")], "i128")
    assert shown["approve"][0][-1] == ("expiration_ledger", "u32")
    assert len(shown) == len(ASSET_INTERFACE.functions)
    assert {"mint", "clawback", "set_admin"} & shown.keys() == set()
    assert ASSET_INTERFACE.find("burn_from") is not None
