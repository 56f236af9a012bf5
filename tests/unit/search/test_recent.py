"""What was used lately stays; what was not goes."""

from farebox.search.meaning.recent import Recent


def test_the_key_whose_use_is_longest_ago_goes_first() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_may_be_put_anew() -> None:
    recent: Recent[str, int] = Recent(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        recent.put(key, value)
    assert [recent.get(key) for key in "abc"] == [3, None, 4]


def test_values_take_the_room_of_their_size() -> None:
    recent: Recent[str, str] = Recent(5, size=len)
    recent.put("a", "12")
    recent.put("b", "34")
    recent.put("b", "345")
    assert [recent.get(key) for key in "ab"] == ["12", "345"]
    recent.put("c", "6")
    assert [recent.get(key) for key in "abc"] == [None, "345", "6"]
