"""No reason code is promised that no test has seen."""

from farebox.x402.reasons import Reason
from support.promises import named_members


def test_each_reason_code_is_named_by_a_test() -> None:
    named = named_members("Reason")
    assert [reason.name for reason in Reason if reason.name not in named] == []
