"""Trees of authorized contract calls (SorobanAuthorizedInvocation): read within bounds, written."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.scval import SYMBOL_MAX_BYTES, ScValue, read_address, read_value
from farebox.stellar.scval_writer import write_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.stellar.xdr_writer import contract_call, uint32

MAX_CALL_ARGUMENTS: Final = 32
_MAX_BRANCHES: Final = 64
_MAX_DEPTH: Final = 8
_CONTRACT_FUNCTION: Final = 0  # SorobanAuthorizedFunctionType


@dataclass(frozen=True, slots=True)
class Invocation:
    """A contract call, and the calls below it that its authorization covers, in their order."""

    contract: Address
    function: str
    arguments: tuple[ScValue, ...]
    nested: "tuple[Invocation, ...]" = ()

    @property
    def call(self) -> bytes:
        """The InvokeContractArgs (XDR) of the call itself."""
        return contract_call(
            self.contract, self.function.encode(), *(write_value(each) for each in self.arguments)
        )


def flatten(invocation: Invocation) -> tuple[Invocation, ...]:
    """The calls of a tree in pre-order, each before those below it."""
    return (invocation, *(each for below in invocation.nested for each in flatten(below)))


def write_invocation(invocation: Invocation) -> bytes:
    """The XDR of a tree."""
    nested = b"".join(write_invocation(each) for each in invocation.nested)
    head = uint32(_CONTRACT_FUNCTION) + invocation.call
    return head + uint32(len(invocation.nested)) + nested


def read_invocation(raw: bytes) -> Invocation:
    """Read the XDR of a tree.

    Raises:
        Malformed: it is none, is larger than the bounds, or authorizes something that is no call.
    """
    reader = XdrReader(raw)
    found = _read(reader, _MAX_DEPTH)
    reader.finish()
    return found


def _read(reader: XdrReader, depth: int) -> Invocation:
    if depth == 0:
        raise Malformed
    reader.expect(_CONTRACT_FUNCTION)
    contract = read_address(reader).plain
    if contract is None:
        raise Malformed
    try:
        function = reader.opaque(SYMBOL_MAX_BYTES).decode("ascii")
    except UnicodeDecodeError:
        raise Malformed from None
    arguments = tuple(read_value(reader) for _ in range(reader.count(MAX_CALL_ARGUMENTS)))
    nested = tuple(_read(reader, depth - 1) for _ in range(reader.count(_MAX_BRANCHES)))
    return Invocation(contract, function, arguments, nested)
