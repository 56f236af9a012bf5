"""The table of cases: each case is tested or deferred, and each cited case exists."""

from collections import Counter

from adversarial.rows import ROWS
from support.promises import citations


def test_each_case_that_is_not_deferred_has_a_test() -> None:
    cited = citations("case")
    assert [row.id for row in ROWS if row.waits_for is None and row.id not in cited] == []


def test_no_deferred_case_has_a_test() -> None:
    cited = citations("case")
    assert [row.id for row in ROWS if row.waits_for and row.id in cited] == []


def test_each_cited_case_is_in_the_table() -> None:
    known = {row.id for row in ROWS}
    assert {key: files for key, files in citations("case").items() if key not in known} == {}


def test_each_id_is_used_once() -> None:
    assert [key for key, n in Counter(row.id for row in ROWS).items() if n > 1] == []
