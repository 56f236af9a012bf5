"""The value that a simulated call returned."""

from collections.abc import Mapping

from farebox.stellar.scval import ScValue, read_value
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64


def read_returned_value(result: Mapping[str, object], *, max_bytes: int) -> ScValue | None:
    """The returned value of a simulation that succeeded; None for an unknown form or a larger one.

    `result` is the result member of the simulation's response.
    """
    results = result.get("results")
    first = results[0] if isinstance(results, list) and len(results) == 1 else None
    text = first.get("xdr") if isinstance(first, dict) else None
    if not isinstance(text, str):
        return None
    try:
        reader = XdrReader(decode_base64(text, max_bytes=max_bytes))
        value = read_value(reader)
        reader.finish()
    except Malformed:
        return None
    return value
