"""The shape of a proposal bounds what is read of it later."""

import json

import msgspec
import pytest

from farebox.automation.plans.wire import MAX_VALUE_DEPTH, ContractCallSpec
from farebox.automation.proposing.wire import spec_json

CONTRACT = "C" + "A" * 55


def encoded(depth: int) -> str:
    """A payload with an argument of so many lists in each other."""
    plan = {
        "contract": CONTRACT,
        "function": "run",
        "effects": {},
        "args": [{"type": "vec", "value": None}],
    }
    return json.dumps(plan).replace("null", "[" * depth + "]" * depth)


def test_argument_of_the_deepest_kind_is_read_and_written() -> None:
    spec = msgspec.json.decode(encoded(MAX_VALUE_DEPTH), type=ContractCallSpec)
    assert "[" * MAX_VALUE_DEPTH in spec_json(spec)


@pytest.mark.parametrize("depth", [MAX_VALUE_DEPTH + 1, 500, 900])
def test_argument_that_is_nested_deeper_is_refused_before_it_is_written(depth: int) -> None:
    """Decoding 900 lists succeeds where encoding them, some calls deeper, does not."""
    with pytest.raises(msgspec.ValidationError, match="nested 32 deep at most"):
        msgspec.json.decode(encoded(depth), type=ContractCallSpec)
