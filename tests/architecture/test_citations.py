"""Citations of decision records, and links between documents, lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "prove", "bench", "e2e", "eval", "docs", "devnet", "contracts")
SUFFIXES = {".py", ".sql", ".rs", ".sh", ".mjs", ".cjs", ".md"}
SKIPPED = {"target", "node_modules", "data"}
RECORDS = {path.name[:4]: path for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}

# a line break of a comment or of a paragraph, with the marks of the comment
_BREAK = re.compile(r"\s*\n\s*(?:#|--|//+|\*)?\s*")
_BY_PATH = re.compile(r"docs/decisions/(\w+)")
_BY_NUMBER = re.compile(r"\bdecisions? ((?:\d+(?:, | and )?)+)", re.IGNORECASE)
_BY_LETTER = re.compile(
    r"\bdecisions?,? \(?D\d+|\(D\d+\)|\bdecisions, \"?[A-Z][a-z]+", re.IGNORECASE
)
_LINK = re.compile(r"\]\((?!https?:)([^)\s]*?)(?:#([^)\s]+))?\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _files(*suffixes: str) -> list[Path]:
    inside = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    every = [*ROOT.glob("*.md"), *inside]
    return sorted(
        path for path in every if path.suffix in suffixes and not SKIPPED & set(path.parts)
    )


def dangling_citations(text: str, *, by_path_only: bool) -> list[str]:
    """The citations in `text` of records that do not exist.

    With `by_path_only` a citation by number ("decision 5") counts too, whether the record exists
    or not: a comment cites `docs/decisions/0005`.
    """
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


def test_decision_citations_are_not_dangling() -> None:
    dangling = {
        str(path.relative_to(ROOT)): cited
        for path in _files(*SUFFIXES)
        if path != Path(__file__)
        # an applied migration keeps its text
        and (
            cited := dangling_citations(
                path.read_text(), by_path_only=path.suffix not in (".md", ".sql")
            )
        )
    }
    assert dangling == {}


@pytest.mark.parametrize(
    "text",
    [
        "the one success (decision D1)",
        "costs the sponsor (D9)",
        'a 400 (decisions, "Status codes")',
        "as decisions, Money says",
        "see decision 4711",
        "see decisions 5 and 4711",
        "# as it stands in decision\n#  4711",
        "see docs/decisions/4711",
        "see docs/decisions/Money",
    ],
)
def test_citation_is_dangling_when_no_record_has_its_number(text: str) -> None:
    assert dangling_citations(text, by_path_only=False) != []


def test_citation_by_number_is_dangling_in_a_comment_and_not_in_a_page() -> None:
    for text in ("decision 5", "Decisions 5 and 16", "decision 0005"):
        assert dangling_citations(text, by_path_only=False) == []
        assert dangling_citations(text, by_path_only=True) != []
    assert dangling_citations("docs/decisions/0005", by_path_only=True) == []


@pytest.mark.parametrize("path", _files(".md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page_lead_to_files_and_headings(path: Path) -> None:
    assert broken_links(path.read_text(), path.parent) == []


def test_link_is_broken_when_the_file_or_the_heading_does_not_exist() -> None:
    page = "# A map of `code`\n[here](#a-map-of-code) [style](docs/style.md) [web](https://x.org/y)"
    assert broken_links(page, ROOT) == []
    for wrong in ("[x](#a-map)", "[x](docs/stile.md)", "[x](docs/style.md#stile)"):
        assert len(broken_links(page + wrong, ROOT)) == 1


def test_decision_record_has_a_number_a_title_and_its_four_parts() -> None:
    assert sorted(RECORDS) == [f"{number:04d}" for number in range(1, len(RECORDS) + 1)]
    for number, path in RECORDS.items():
        lines = path.read_text().splitlines()
        assert lines[0].startswith(f"# {int(number)}. ")
        parts = [line for line in lines if line.startswith("## ")]
        for part in ("## Context", "## Decision", "## Consequences", "## Turned down"):
            assert part in parts, path.name
