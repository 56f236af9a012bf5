"""The `bazaar` block of a listing: how its resource is called."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_PARAMETERS: Final[tuple[str, ...]] = ("pathParams", "queryParams", "body")


@dataclass(frozen=True, slots=True)
class ListedBlock:
    """The block's members, each an object: empty where the listing has none."""

    info: dict[str, Any]
    schema: dict[str, Any]

    @property
    def input(self) -> dict[str, Any]:
        """The example of a request."""
        return as_object(self.info.get("input"))

    @property
    def output(self) -> dict[str, Any]:
        """The example of a response."""
        return as_object(self.info.get("output"))

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of each part of a request; that of a tool is its `inputSchema`."""
        frame = as_object(as_object(self.schema.get("properties")).get("input"))
        parts = as_object(frame.get("properties"))
        found = {name: parts[name] for name in _PARAMETERS if name in parts}
        tool = self.input.get("inputSchema")
        return found if tool is None else {**found, "inputSchema": tool}

    @property
    def example(self) -> dict[str, Any]:
        """The parameters of the example."""
        return {name: self.input[name] for name in _PARAMETERS if self.input.get(name)}


def read_block(extensions: bytes) -> ListedBlock:
    """Read the block from a listing's extensions, which the catalog has judged before."""
    bazaar = as_object(_decode(extensions).get("bazaar"))
    return ListedBlock(as_object(bazaar.get("info")), as_object(bazaar.get("schema")))


def as_object(value: object) -> dict[str, Any]:
    """Return an object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}
