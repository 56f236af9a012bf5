"""Contracts small enough to be written out byte by byte.

The `__check_auth(payload, signature, contexts)` of the accounts accepts every signature.
The signature decides its other actions, so that few contracts cover every hostile case.
"""

from typing import Final

_PROTOCOL: Final = 30
_I64: Final = 0x7E
_VOID: Final = 2  # the host's value for "nothing"


def _unsigned(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _signed(value: int) -> bytes:
    """LEB128, signed, for values that are not negative."""
    out = _unsigned(value)
    return out if not out[-1] & 0x40 else out[:-1] + bytes([out[-1] | 0x80, 0])


def _list(items: list[bytes]) -> bytes:
    return _unsigned(len(items)) + b"".join(items)


def _text(text: str) -> bytes:
    return _unsigned(len(text)) + text.encode()


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + _unsigned(len(content)) + content


def _function_type(parameters: int) -> bytes:
    return b"\x60" + _list([bytes([_I64])] * parameters) + _list([bytes([_I64])])


def _import(module: str, name: str, type_index: int) -> bytes:
    return _text(module) + _text(name) + b"\x00" + _unsigned(type_index)


def _module(
    imports: list[tuple[str, str, int]], code: bytes, export: str, *, takes: int = 3
) -> bytes:
    """A module with one function of so many parameters; imports are (module, name, parameters)."""
    parameters = [count for _, _, count in imports]
    own = len(imports)  # functions are numbered after the imported ones
    interface = bytes(4) + _PROTOCOL.to_bytes(4) + bytes(4)
    body = _list([]) + code + b"\x0b"
    return b"".join(
        (
            b"\x00asm\x01\x00\x00\x00",
            _section(1, _list([_function_type(count) for count in [*parameters, takes]])),
            _section(2, _list([_import(m, n, i) for i, (m, n, _) in enumerate(imports)])),
            _section(3, _list([_unsigned(own)])),
            _section(7, _list([_text(export) + b"\x00" + _unsigned(own)])),
            _section(10, _list([_unsigned(len(body)) + body])),
            _section(0, _text("contractenvmetav0") + interface),
        )
    )


def _constant(value: int) -> bytes:
    return b"\x42" + _signed(value)


def _parameter(index: int) -> bytes:
    return b"\x20" + _unsigned(index)


_SIGNATURE: Final = _parameter(1)
_CHECK_AUTH: Final = "__check_auth"
_DROP: Final = b"\x1a"


def _call(index: int) -> bytes:
    return b"\x10" + _unsigned(index)


def silent_account() -> bytes:
    """Accepts any signature and does nothing else."""
    return _module([], _constant(_VOID), _CHECK_AUTH)


def announcing_account() -> bytes:
    """Emits an event whose topics are its signature, a vector."""
    emit = _SIGNATURE + _constant(_VOID) + _call(0) + _DROP
    return _module([("x", "1", 2)], emit + _constant(_VOID), _CHECK_AUTH)


def spending_account() -> bytes:
    """Calls what its signature, a vector (contract, function, arguments), says."""
    parts = b"".join(_SIGNATURE + _constant(index << 32 | 4) + _call(0) for index in range(3))
    spend = parts + _call(1) + _DROP + _constant(_VOID)
    return _module([("v", "1", 2), ("d", "_", 3)], spend, _CHECK_AUTH)


def endless_account() -> bytes:
    """Works until it is stopped."""
    forever = b"\x03\x40\x0c\x00\x0b"
    return _module([], forever + _constant(_VOID), _CHECK_AUTH)


def endless_token() -> bytes:
    """A token whose balance is worked out until it is stopped."""
    forever = b"\x03\x40\x0c\x00\x0b"
    return _module([], forever + _constant(_VOID), "balance", takes=1)


def described(wasm: bytes, section: bytes) -> bytes:
    """The module with a section that describes its functions."""
    return wasm + _section(0, _text("contractspecv0") + section)


def careless_web_auth() -> bytes:
    """A web-auth contract that asks for no authorization."""
    return _module([], _constant(_VOID), "web_auth_verify", takes=1)
