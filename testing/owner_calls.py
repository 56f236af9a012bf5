"""Calls that the owner of a plan signs, as a wallet does it: recorded, signed and landed."""

from collections.abc import Callable
from typing import Final

from stellar_sdk import InvokeHostFunction, Keypair, SorobanServer, TransactionBuilder, xdr

from farebox.kernel.networks import Network
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval_writer import write_value
from testing.contracts import return_value, submit
from testing.machine import RunFailed

Entry = xdr.SorobanAuthorizationEntry
Sign = Callable[[Entry, int], Entry]  # an entry, up to a ledger

_FEE: Final = 1_000_000
_LIFE: Final = 100  # ledgers in which a signature may be used


def sign_recorded(
    server: SorobanServer, network: Network, source: str, tree: Invocation, sign: Sign
) -> InvokeHostFunction:
    """The operation of a call with every entry signed that a recording asks for.

    Raises:
        RunFailed: the recording fails.
    """
    arguments = [xdr.SCVal.from_xdr_bytes(write_value(each)) for each in tree.arguments]
    builder = TransactionBuilder(server.load_account(source), network.passphrase, base_fee=_FEE)
    builder.append_invoke_contract_function_op(tree.contract, tree.function, arguments)
    recorded = server.simulate_transaction(builder.set_timeout(300).build())
    operation = builder.operations[0]
    if not recorded.results or not isinstance(operation, InvokeHostFunction):
        raise RunFailed(f"{tree.function} is refused: {recorded.error}")
    entries = [Entry.from_xdr(each) for each in recorded.results[0].auth or []]
    operation.auth[:] = [sign(each, recorded.latest_ledger + _LIFE) for each in entries]
    return operation


def land_signed(
    server: SorobanServer, network: Network, sender: Keypair, tree: Invocation, sign: Sign
) -> xdr.SCVal:
    """Land a call that its owner signs, in a transaction of `sender`; what it returns.

    Raises:
        RunFailed: it is refused, or does not land.
    """
    operation = sign_recorded(server, network, sender.public_key, tree, sign)
    landed = submit(server, network, sender, [sender], lambda b: b.append_operation(operation))
    return return_value(landed)
