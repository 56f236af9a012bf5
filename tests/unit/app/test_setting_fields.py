"""The declarations of the settings are consistent."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import pytest

from farebox.app.configuration import KNOWN
from farebox.app.setting_fields import (
    SETTING,
    InvalidText,
    Setting,
    declared_in,
    optional,
    rule,
    sections_of,
    setting,
    variable,
)
from farebox.app.settings import Settings


@rule("a colour", is_secret=True)
def colour(text: str) -> str:
    if text != "red":
        raise ValueError(text)
    return text


def test_rule_names_what_it_accepts_and_repeats_no_text() -> None:
    assert colour("red") == "red"
    with pytest.raises(InvalidText, match=r"\Aa colour\Z") as refused:
        colour("hidden")
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def refused_defaults(known: Iterable[tuple[Setting, Enum | None]]) -> list[str]:
    """The settings whose own rule does not accept their default."""
    refused = []
    for each, key in known:
        default = each.default_of(key)
        try:
            _ = default is None or each.rule(default)
        except InvalidText:
            refused.append(variable(each.name, key))
    return refused


def test_defaults_are_accepted_by_their_own_rules() -> None:
    assert refused_defaults(KNOWN.values()) == []
    blue = Setting("ONE", colour, "blue", "the one")
    assert refused_defaults([(blue, None)]) == [variable("ONE", None)]


def test_settings_depend_on_settings_that_exist() -> None:
    unknown = []
    for each, key in KNOWN.values():
        others = [each.fallback, each.at_most, *each.differs_from, *each.needs]
        names = {name: variable(name, key) for name in others if name}
        unknown += [(each.name, name) for name, known in names.items() if known not in KNOWN]
    assert unknown == []


def _declared_types(section: type[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for own in fields(section):
        if SETTING in own.metadata:
            found[own.metadata[SETTING].name] = str(own.type)
        for inner, _ in sections_of(own):
            found |= _declared_types(inner)
    return found


def test_setting_is_secret_exactly_when_its_value_is() -> None:
    types = _declared_types(Settings)
    secret = {name for name, of in types.items() if "Secret" in of or "MasterKeys" in of}
    assert secret == {setting.name for setting, _ in KNOWN.values() if setting.rule.is_secret}
    assert len(secret) == 7


def test_each_setting_name_is_declared_once() -> None:
    assert len(KNOWN) == len(list(declared_in(Settings)))


def test_declaration_of_an_unknown_dependency_is_an_error() -> None:
    with pytest.raises(TypeError):

        @dataclass
        class _Wrong:
            one: str = setting("ONE", colour, "red", "the one", at_mots="TWO")

    with pytest.raises(TypeError):
        optional("ONE", colour, "the one", default="red")
