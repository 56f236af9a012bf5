"""The manifest is complete both ways: each promise is held by a test, each citation is real."""

import re
from collections import Counter
from typing import Final

from spec.manifest import PROMISES
from support.promises import citations

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*:[a-z0-9]+(-[a-z0-9]+)*\Z")


def test_each_promise_has_a_test() -> None:
    cited = citations("promise")
    assert [p.id for p in PROMISES if p.id not in cited] == []


def test_each_cited_promise_stands_in_the_manifest() -> None:
    known = {p.id for p in PROMISES}
    assert {key: files for key, files in citations("promise").items() if key not in known} == {}


def test_each_id_is_used_once_and_spelled_like_the_others() -> None:
    assert [key for key, n in Counter(p.id for p in PROMISES).items() if n > 1] == []
    assert [p.id for p in PROMISES if not _ID.match(p.id)] == []


def test_each_promise_is_one_whole_sentence_of_its_own() -> None:
    assert [p.id for p in PROMISES if not p.sentence.endswith(".")] == []
    assert [s for s, n in Counter(p.sentence for p in PROMISES).items() if n > 1] == []
