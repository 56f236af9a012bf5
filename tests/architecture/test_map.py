"""docs/architecture.md lists every package, folder and import, and names modules that exist."""

import re
from pathlib import Path

import pytest

from architecture.import_table import INSIDE, MAY_IMPORT

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "farebox"
PAGE = (ROOT / "docs" / "architecture.md").read_text()

_ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
_NAMED = re.compile(r"`([\w/]+/\w+\.py)(?:::(\w+))?`")
_BARE = re.compile(r"`(\w+\.py)(?:::\w+)?`")


def _folders(of: Path) -> set[str]:
    return {path.name for path in of.iterdir() if (path / "__init__.py").is_file()}


def _table(page: str, heading: str) -> dict[str, set[str]]:
    """The rows of the table whose head begins with `heading`: the names, and what they import."""
    table = page.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {row[1]: set(re.findall(r"`(\w+)`", row[3])) for row in _ROW.finditer(table)}


def unknown_modules(page: str) -> list[str]:
    """The modules, and functions or classes in them, that a page names and that do not exist."""
    unknown = _BARE.findall(page)
    for path, name in _NAMED.findall(page):
        module = next((top / path for top in (PACKAGE, ROOT) if (top / path).is_file()), None)
        if module is None:
            unknown.append(path)
        elif name and not re.search(rf"\b(?:def|class) {name}\b", module.read_text()):
            unknown.append(f"{path}::{name}")
    return unknown


def test_architecture_page_has_every_package_and_its_imports() -> None:
    assert _folders(PACKAGE) == MAY_IMPORT.keys()
    assert _table(PAGE, "package") == MAY_IMPORT


@pytest.mark.parametrize("feature", sorted(INSIDE))
def test_architecture_page_has_every_folder_of_a_feature_and_its_imports(feature: str) -> None:
    folders = _folders(PACKAGE / feature)
    imports = {name: below & folders for name, below in INSIDE[feature].items() if name in folders}
    assert _table(PAGE, f"folder of `{feature}`") == imports


def test_architecture_page_names_modules_that_exist() -> None:
    assert len(_NAMED.findall(PAGE)) > 50
    assert unknown_modules(PAGE) == []


def test_missing_row_or_import_on_the_architecture_page_is_found() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `vault` |"))
    assert _table(PAGE.replace(row + "\n", ""), "package") != MAY_IMPORT
    shorter = row.replace("`audit`, ", "")
    assert shorter != row
    assert _table(PAGE.replace(row, shorter), "package") != MAY_IMPORT


def test_unknown_module_or_name_on_the_architecture_page_is_found() -> None:
    assert unknown_modules("`stellar/fees.py::plan_fees` and `prove/interceptor.py`") == []
    for wrong in ("`stellar/fee.py`", "`stellar/fees.py::plan_fee`", "`fees.py`"):
        assert len(unknown_modules(wrong)) == 1
