"""Citations, links and the map in the documents lead to what exists."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from architecture.import_table import INSIDE, MAY_IMPORT
from architecture.package_modules import PACKAGE, ROOT, repository_files

_TREES: Final = {"src", "tests", "testing", "prove", "bench", "e2e", "eval"}
FOLDERS: Final = _TREES | {"docs", "devnet", "contracts"}
SUFFIXES: Final = {".py", ".sql", ".rs", ".sh", ".mjs", ".cjs", ".md"}
RECORDS: Final = {path.name[:4]: path for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
MAP: Final = (ROOT / "docs" / "architecture.md").read_text()

# a line break of a comment or of a paragraph, with the marks of the comment
_BREAK = re.compile(r"\s*\n\s*(?:#|--|//+|\*)?\s*")
_MAYBE = re.compile(r"decision|\(D\d", re.IGNORECASE)
_BY_PATH = re.compile(r"docs/decisions/(\w+)")
_BY_NUMBER = re.compile(r"\bdecisions? ((?:\d+(?:, | and )?)+)", re.IGNORECASE)
_BY_LETTER = re.compile(
    r"\bdecisions?,? \(?D\d+|\(D\d+\)|\bdecisions, \"?[A-Z][a-z]+", re.IGNORECASE
)
_LINK = re.compile(r"\]\((?!https?:)([^)\s]*?)(?:#([^)\s]+))?\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
_NAMED = re.compile(r"`([\w/]+/\w+\.py)(?:::(\w+))?`")
_BARE = re.compile(r"`(\w+\.py)(?:::\w+)?`")


def _files(suffixes: set[str]) -> dict[str, Path]:
    """The texts of the folders that cite and link, and the pages beside them."""
    places = {path.relative_to(ROOT): path for path in repository_files()}
    return {
        str(place): path
        for place, path in places.items()
        if path.suffix in suffixes and "data" not in place.parts
        if place.parts[0] in FOLDERS or (path.parent == ROOT and path.suffix == ".md")
    }


def dangling_citations(text: str, *, by_path_only: bool) -> list[str]:
    """The citations in `text` of records that do not exist.

    With `by_path_only` a citation by number ("decision 5") counts too, whether the record exists
    or not: a comment cites `docs/decisions/0005`.
    """
    if not _MAYBE.search(text):
        return []
    line = _BREAK.sub(" ", text)
    dangling = [match[0] for match in _BY_LETTER.finditer(line)]
    dangling += [match[0] for match in _BY_PATH.finditer(line) if match[1] not in RECORDS]
    for match in _BY_NUMBER.finditer(line):
        numbers = re.findall(r"\d+", match[1])
        if by_path_only or not {f"{int(number):04d}" for number in numbers} <= RECORDS.keys():
            dangling.append(match[0])
    return dangling


def _anchors(page: str) -> Iterator[str]:
    """The anchors of the headings of a page, as the usual renderers make them."""
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lower())
        yield re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def broken_links(page: str, folder: Path) -> list[str]:
    """The links of a page in `folder` to files or headings that do not exist."""
    broken = []
    for path, anchor in _LINK.findall(_FENCE.sub("", page)):
        target = folder / path
        is_there = not path or target.exists()
        if is_there and anchor and target.suffix in ("", ".md"):
            is_there = anchor in _anchors(target.read_text() if path else page)
        if not is_there:
            broken.append(f"{path}#{anchor}" if anchor else path)
    return broken


def record_faults(records: Mapping[str, str]) -> list[str]:
    """Decision records whose number is left out, or that lack their title or one of their parts."""
    numbers = [f"{number:04d}" for number in range(1, len(records) + 1)]
    faults = [f"{number}: is left out" for number in numbers if number not in records]
    for number, text in records.items():
        title, *lines = text.splitlines()
        if not title.startswith(f"# {int(number)}. "):
            faults.append(f"{number}: has another title")
        parts = ("Context", "Decision", "Consequences", "Turned down")
        faults += [f"{number}: has no {part}" for part in parts if f"## {part}" not in lines]
    return faults


def map_faults(page: str) -> list[str]:
    """The tables of the map that differ from the packages, their folders and their imports."""
    tables = {"package": MAY_IMPORT} | {
        f"folder of `{feature}`": {
            name: below & _folders(feature)
            for name, below in table.items()
            if name in _folders(feature)
        }
        for feature, table in INSIDE.items()
    }
    faults = [heading for heading, table in tables.items() if _table(page, heading) != table]
    return faults if _folders() == MAY_IMPORT.keys() else ["the packages", *faults]


def _folders(of: str = "") -> set[str]:
    return {path.parent.name for path in (PACKAGE / of).glob("*/__init__.py")}


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


def test_decision_citations_are_not_dangling() -> None:
    dangling = {
        place: cited
        for place, path in _files(SUFFIXES).items()
        if path != Path(__file__)
        # an applied migration keeps its text
        and (
            cited := dangling_citations(
                path.read_text(), by_path_only=path.suffix not in (".md", ".sql")
            )
        )
    }
    assert dangling == {}


def test_citation_is_dangling_when_no_record_has_its_number() -> None:
    citations = [
        "the one success (decision D1)",
        "costs the sponsor (D9)",
        'a 400 (decisions, "Status codes")',
        "as decisions, Money says",
        "see decision 4711",
        "see decisions 5 and 4711",
        "# as it stands in decision\n#  4711",
        "see docs/decisions/4711",
        "see docs/decisions/Money",
        "SEE DECISION 4711",
    ]
    assert [each for each in citations if not dangling_citations(each, by_path_only=False)] == []


def test_citation_by_number_is_dangling_in_a_comment_and_not_in_a_page() -> None:
    for text in ("decision 5", "Decisions 5 and 16", "decision 0005"):
        assert dangling_citations(text, by_path_only=False) == []
        assert dangling_citations(text, by_path_only=True) != []
    assert dangling_citations("docs/decisions/0005", by_path_only=True) == []


def test_links_of_pages_lead_to_files_and_headings() -> None:
    pages = _files({".md"})
    assert len(pages) > 50
    broken = {place: broken_links(path.read_text(), path.parent) for place, path in pages.items()}
    assert {place: links for place, links in broken.items() if links} == {}


def test_link_is_broken_when_the_file_or_the_heading_does_not_exist() -> None:
    page = "# A map of `code`\n[here](#a-map-of-code) [style](docs/style.md) [web](https://x.org/y)"
    assert broken_links(page, ROOT) == []
    wrong = "[x](#a-map)", "[x](docs/stile.md)", "[x](docs/style.md#stile)"
    broken = ["#a-map", "docs/stile.md", "docs/style.md#stile"]
    assert broken_links(page + " ".join(wrong), ROOT) == broken


def test_decision_record_has_a_number_a_title_and_its_four_parts() -> None:
    assert record_faults({number: path.read_text() for number, path in RECORDS.items()}) == []
    whole = "# 1. One\n## Context\n## Decision\n## Consequences\n## Turned down"
    assert record_faults({"0001": whole, "0003": "# 2. Two\n## Context\n## Decision"}) == [
        "0002: is left out",
        "0003: has another title",
        "0003: has no Consequences",
        "0003: has no Turned down",
    ]


def test_architecture_page_has_every_package_and_folder_with_its_imports() -> None:
    assert map_faults(MAP) == []


def test_missing_row_or_import_on_the_architecture_page_is_found() -> None:
    row = next(line for line in MAP.splitlines() if line.startswith("| `vault` |"))
    assert map_faults(MAP.replace(row + "\n", "")) == ["package"]
    shorter = row.replace("`audit`, ", "")
    assert shorter != row
    assert map_faults(MAP.replace(row, shorter)) == ["package"]
    heading = "| folder of `search` |"
    assert heading in MAP
    assert map_faults(MAP.replace(heading, "| of |")) == ["folder of `search`"]


def test_architecture_page_names_modules_that_exist() -> None:
    assert len(_NAMED.findall(MAP)) > 50
    assert unknown_modules(MAP) == []
    assert unknown_modules("`stellar/fees.py::plan_fees` and `prove/interceptor.py`") == []
    wrong = "`stellar/fee.py`", "`stellar/fees.py::plan_fee`", "`fees.py`"
    assert [unknown_modules(each) for each in wrong] == [[each.strip("`")] for each in wrong]
