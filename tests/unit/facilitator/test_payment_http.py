"""The API schema of `paymentRequirements` states the bounds that its reader enforces."""

import re

import msgspec
import pytest

from farebox.facilitator.payment_http import TERMS_EXAMPLE, RequirementsBody
from farebox.kernel.amounts import MAX_BASE_UNITS
from farebox.x402.payment import PaymentTerms
from farebox.x402.wire import read_requirements

SCHEMA = msgspec.json.schema(RequirementsBody)["$defs"]["RequirementsBody"]["properties"]


def is_read(**changes: object) -> bool:
    read = read_requirements(msgspec.json.encode(TERMS_EXAMPLE | changes))
    return isinstance(read, PaymentTerms)


@pytest.mark.parametrize("bound", ["minimum", "maximum"])
def test_timeout_is_read_to_each_bound_of_the_schema_and_no_further(bound: str) -> None:
    """Control: a schema without the maximum."""
    last = SCHEMA["maxTimeoutSeconds"][bound]
    beyond = last + (1 if bound == "maximum" else -1)
    assert (is_read(maxTimeoutSeconds=last), is_read(maxTimeoutSeconds=beyond)) == (True, False)


@pytest.mark.parametrize("amount", [1, MAX_BASE_UNITS, 10**39, 0])
def test_amount_that_is_read_has_the_form_of_the_schema(amount: int) -> None:
    has_form = re.fullmatch(SCHEMA["amount"]["pattern"], str(amount)) is not None
    assert is_read(amount=str(amount)) is has_form
