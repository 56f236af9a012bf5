"""The reader process and its messages: length-prefixed MessagePack over standard input and output.

It parses one text after the other until its standard input ends.
"""

import sys
from dataclasses import dataclass
from typing import IO, Final

import msgspec

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.kernel.addresses import Address

LENGTH_BYTES: Final = 4  # big-endian, before each message


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A text to parse."""

    text: bytes
    pay_to: str
    is_local_allowed: bool


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """The result; exactly one of the two is set."""

    resource: DiscoveredResource | None = None
    dropped: Dropped | None = None


decode_request: Final = msgspec.msgpack.Decoder(ReadRequest).decode
decode_response: Final = msgspec.msgpack.Decoder(ReadResponse).decode
_encode: Final = msgspec.msgpack.Encoder().encode


def encode_frame(message: ReadRequest | ReadResponse) -> bytes:
    """Encode a message with its length."""
    body = _encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def main(requests: IO[bytes], responses: IO[bytes]) -> None:
    """Answer every request in order; return when the service has closed its end."""
    while len(length := requests.read(LENGTH_BYTES)) == LENGTH_BYTES:
        body = requests.read(int.from_bytes(length, "big"))
        responses.write(encode_frame(_answer(decode_request(body))))
        responses.flush()


def _answer(request: ReadRequest) -> ReadResponse:
    parsed = parse_discovery(
        request.text, pay_to=Address(request.pay_to), is_local_allowed=request.is_local_allowed
    )
    if isinstance(parsed, Dropped):
        return ReadResponse(dropped=parsed)
    return ReadResponse(resource=parsed)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
