"""The operators' page has every setting as it is declared."""

import re
from pathlib import Path

from farebox.app.configuration import CONFIG_NAME, KNOWN
from farebox.app.settings_reference import with_reference

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
KEY = re.compile(r"<[A-Z]+>")


def test_reference_is_current() -> None:
    assert with_reference(PAGE) == PAGE, "run scripts/docs"


def test_settings_reference_restores_a_changed_default_range_or_sentence() -> None:
    for right, wrong in [
        ("`8402`", "`8403`"),
        ("from 0 to 65535", "from 1 to 65535"),
        ("0 takes any free one", "0 takes the next one"),
        ("; secret |", " |"),
    ]:
        assert right in PAGE
        assert with_reference(PAGE.replace(right, wrong, 1)) == PAGE


def test_operators_page_names_every_setting_and_no_other() -> None:
    names = set(re.findall(r"FAREBOX_(?:[A-Z_]|<[A-Z]+>)+", PAGE))
    declared = {"FAREBOX_" + setting.name for setting, _ in KNOWN.values()}
    assert declared <= names
    assert names <= declared | KNOWN.keys() | {CONFIG_NAME}
