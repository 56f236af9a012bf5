"""The terms of an API key, and who may rotate it."""

from datetime import UTC, datetime, timedelta

import pytest

from farebox.accounts.api_key import (
    LONGEST_LIFE,
    SHORTEST_LIFE,
    BadKeyTerms,
    KeyTerms,
    judge_id,
    judge_rotator,
    judge_terms,
)
from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId, SessionRequired
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READ = frozenset({Grant.READ})
TICK = timedelta(microseconds=1)


def judged(
    name: str = "robot",
    *,
    grants: list[Grant] | None = None,
    expires_at: datetime | None = None,
    life: timedelta | None = None,
) -> KeyTerms:
    return judge_terms(name, grants, expires_at=expires_at, life=life, now=NOW)


def test_key_has_the_read_scope_unless_others_are_named() -> None:
    assert judged() == KeyTerms("robot", READ, None)
    grants = [Grant.WRAPPERS, Grant.FACILITATOR]
    assert judged(grants=grants).grants == frozenset(grants)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("ab", "ab"),
        (" ab ", "ab"),
        ("\tab\n", "ab"),
        ("x" * 80, "x" * 80),
        ("  " + "x" * 80, "x" * 80),
        ("e\u0301te\u0301", "été"),
        ("机器人", "机器人"),
        ("robot 🤖", "robot 🤖"),
    ],
)
def test_key_name_is_trimmed_and_normalized(given: str, kept: str) -> None:
    assert judged(given).name == kept


@pytest.mark.parametrize(
    "name", ["", " ", "x", " x ", "x" * 81, "a\nb", "a\x00b", "a\u200bb", "a\u202eb", "a\ud800b"]
)
def test_key_name_is_refused_when_too_short_too_long_or_not_printable(name: str) -> None:
    with pytest.raises(BadKeyTerms) as refused:
        judged(name)
    assert refused.value.code == "invalid_name"
    assert name not in refused.value.message or len(name) < 2


@pytest.mark.parametrize(
    "secret", [*(new_token(form).value.reveal() for form in TokenType), "S" + "A" * 55]
)
def test_key_name_that_holds_a_secret_is_refused_without_repeating_it(secret: str) -> None:
    for name in (secret, f" {secret}", f"my key {secret}."):
        with pytest.raises(BadKeyTerms) as refused:
            judged(name)
        assert refused.value.code == "invalid_name"
        assert secret not in refused.value.message
    judged("fbx_live_ keys of S")


@pytest.mark.parametrize("life", [SHORTEST_LIFE, LONGEST_LIFE])
def test_key_life_counts_from_now(life: timedelta) -> None:
    assert judged(life=life).expires_at == NOW + life
    assert judged(expires_at=NOW + life).expires_at == NOW + life


@pytest.mark.parametrize("life", [SHORTEST_LIFE - TICK, LONGEST_LIFE + TICK, timedelta(-1)])
def test_key_life_is_refused_when_too_short_or_too_long(life: timedelta) -> None:
    for given in ({"life": life}, {"expires_at": NOW + life}):
        with pytest.raises(BadKeyTerms) as refused:
            judged(**given)
        assert refused.value.code == "invalid_expiry"


def test_key_terms_with_both_a_life_and_an_expiry_are_refused() -> None:
    with pytest.raises(BadKeyTerms):
        judged(expires_at=NOW + SHORTEST_LIFE, life=SHORTEST_LIFE)


def caller(kind: CallerKind, key_id: str | None = None) -> Caller:
    return Caller(OwnerId("user_1"), kind, key_id=key_id)


def test_key_may_rotate_only_itself_and_other_callers_any_key() -> None:
    own, other = new_id("key"), new_id("key")
    judge_rotator(caller(CallerKind.KEY, own), own)
    judge_rotator(caller(CallerKind.SESSION), own)
    judge_rotator(caller(CallerKind.OPERATOR), own)
    for key_id in (other, "nonsense", own.lower() + "x"):
        with pytest.raises(SessionRequired):
            judge_rotator(caller(CallerKind.KEY, own), key_id)
    with pytest.raises(NotFound):
        judge_rotator(caller(CallerKind.SESSION), "nonsense")


@pytest.mark.parametrize(
    "key_id",
    ["", "key_", new_id("sec"), new_id("key") + "0", new_id("key") + "\n", "key_" + "é" * 22],
)
def test_malformed_key_id_is_not_found(key_id: str) -> None:
    with pytest.raises(NotFound):
        judge_id(key_id)
