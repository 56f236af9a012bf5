"""Which keys lead to which."""

from farebox.accounts.key_line import Link, keys_before, leading_to


def links(*lines: str) -> list[Link]:
    """Lines of keys, each rotated to the next; those in capitals work."""
    return [
        Link(each, line[n + 1] if n + 1 < len(line) else None, each.isupper())
        for line in lines
        for n, each in enumerate(line)
    ]


def test_before_a_key_stands_every_key_that_led_to_it() -> None:
    assert keys_before(links("abC", "deF"), "C") == {"a", "b"}
    assert keys_before(links("abC"), "b") == {"a"}
    assert keys_before(links("abC"), "a") == frozenset()
    assert keys_before([], "a") == frozenset()


def test_a_key_leads_to_what_works_and_to_what_is_about_to() -> None:
    assert leading_to(links("abC", "def", "G"), "new") == {"a", "b"}
    assert leading_to([*links("ab"), Link("c", "new", is_live=False)], "new") == {"c"}
    assert leading_to([*links("ab"), Link("b", "new", is_live=False)], "new") == {"a", "b"}
