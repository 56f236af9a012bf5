"""The fenced blocks of README.md and docs/*.md, each with the one check that it is given.

The language of a block decides, or else the page's line in `CHECKS`, in the order of its blocks. A
block without a check is a fault, and so is a check without a block.
"""

import ast
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import jsonschema_rs

from e2e.pages import PAGES
from farebox.app.api_reference import documented_routes
from farebox.app.openapi import openapi_document
from farebox.cli.main import command

ROOT: Final = Path(__file__).parents[2]
ROUTES: Final = {(each.method, each.path): each for each in documented_routes()}
# pages whose commands are sent by a test, in this order: the first search finds what is sold
SENT: Final = (
    *("accounts.md", "api.md", "skills.md", "wallets.md", "gateway.md", "automation.md", "buy.md"),
)
# of E2E=pages: packages from a registry, the seller that they make, and a wallet's commands, whose
# signatures do not live long enough on a ledger as fast as that of the tests
_ELSEWHERE: Final = re.compile(r"^(npm|node|PORT=\d+|farebox)\b|:402[12]\b", re.M)
_FENCE: Final = re.compile(r"^ *```(?P<info>[^\n]*)\n(?P<text>.*?)^ *```$", re.M | re.S)
_NAMED: Final = re.compile(r"^(?:make|farebox) ([a-z-]+)|^(scripts/\S+)|^pip .* -r (\S+)", re.M)
_LINE: Final = re.compile(r"(?P<method>[A-Z]+) +(?P<path>/[^\s?]*)(?P<rest>.*)")
_NAME: Final = re.compile(r'[{,|?&]\s*"?([A-Za-z]\w*)"?(?=[\s:,?}=]|$)')
Faults = Iterable[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page; `info` is what follows the fence."""

    page: str
    line: int
    info: str
    text: str


# a block that a test sends: by the shell, by the database, or as the JSON of a route
COMMANDS: Final = "sh"
STATEMENTS: Final = "sql"
Check = Callable[[str], Faults] | str | tuple[str, str]


def held_elsewhere(_text: str) -> Faults:
    """What `make e2e E2E=pages` runs, or what `scripts/docs` writes from the routes."""
    return ()


def is_code(text: str) -> Faults:
    """Compile Python."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        yield str(error)


def is_script(text: str) -> Faults:
    """Compile JavaScript, where there is a Node.js."""
    node = shutil.which("node")
    if node is not None:
        parse = [node, "--check", "--input-type=module", "-"]
        parsed = subprocess.run(parse, input=text, capture_output=True, text=True, check=False)
        yield from parsed.stderr.splitlines()[:5] if parsed.returncode else ()


def is_of_contracts(text: str) -> Faults:
    """Find each function among those of the contracts."""
    sources = "\n".join(each.read_text() for each in (ROOT / "contracts").rglob("*.rs"))
    for name in re.findall(r"fn (\w+)\(", text) or ["no function"]:
        if f"fn {name}(" not in sources:
            yield f"the contracts have no {name}"


def shows(word: str) -> Check:
    """A drawing or an output, which has this word and is no request."""
    return lambda text: [] if word in text and not _LINE.match(text) else [f"no {word}"]


def are_commands(text: str) -> Faults:
    """Find the targets, the subcommands and the files that these commands name."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    known = {*targets, *command.list_commands(click.Context(command))}
    names = ["".join(each) for each in _NAMED.findall(text)]
    yield from (each for each in names if each not in known and not (ROOT / each).exists())
    yield from [] if names else ["no command of ours"]


def answers(method: str, path: str, status: int = 200) -> Check:
    """A response of a route, which its schema allows."""

    def check(text: str) -> Faults:
        document: Any = openapi_document([ROUTES[method, path]])
        response = document["paths"][path][method.lower()]["responses"][str(status)]
        schema = response["content"]["application/json"]["schema"] | document
        try:
            errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(json.loads(text))
            yield from (each.message for each in errors)
        except json.JSONDecodeError as error:
            yield str(error)

    return check


def are_shapes(text: str) -> Faults:
    """Find the route of each line and, in its schema, every member and parameter of the line."""
    lines = list(filter(None, map(_LINE.match, text.splitlines())))
    for line in lines:
        method, path = line["method"], line["path"].replace("<", "{").replace(">", "}")
        if (method, path) not in ROUTES:
            yield f"no route {method} {path}"
            continue
        document = json.dumps(openapi_document([ROUTES[method, path]]))
        for name in _NAME.findall(" ".join(re.findall(r"\{.*?\}+|\?\S+", line["rest"]))):
            if f'"{name}"' not in document:
                yield f"{method} {path} has no {name}"
    yield from [] if lines else ["no request"]


_REFUSAL: Final = answers("GET", "/v1/audit", 403)
_FOUND: Final = answers("GET", "/discovery/search")
CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "README.md": (are_commands, are_commands),
    "accounts.md": (are_shapes, are_shapes),
    "agents.md": (("POST", "/mcp"),),
    "api.md": (are_shapes, _REFUSAL),
    "architecture.md": (shows("─▶"),) * 6,
    "benchmarks.md": (shows("Scan"),) * 2,
    "console.md": (are_commands,),
    "discovery.md": (
        answers("GET", "/discovery/resources"),
        _REFUSAL,
        _FOUND,
        answers("POST", "/v1/discovery/validate"),
    ),
    "gateway.md": (are_shapes,),
    "interoperability.md": (are_commands,),
    "operations.md": (
        are_commands,
        are_commands,
        shows("proxy_pass http://farebox;"),
        are_commands,
        shows("≤ max_connections"),
    ),
    "search.md": (_FOUND,),
    "sell.md": (are_shapes,),
    "upto.md": (shows("├── approve("),),
    "vault.md": (answers("GET", "/v1/audit"),),
}


def read_pages() -> dict[str, str]:
    """The text of every page, by its name."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {each.name: each.read_text() for each in paths}


def read_spans(pages: Mapping[str, str], begin: str) -> set[str]:
    """The code in the lines of the pages that begins so (a pattern)."""
    texts = [_FENCE.sub("", text) for page, text in pages.items() if page != "api-reference.md"]
    return {each for text in texts for each in re.findall(rf"`((?:{begin})[^`\n]*)`", text)}


def read_blocks(pages: Mapping[str, str]) -> Iterator[Block]:
    """Every fenced block."""
    for page, text in pages.items():
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page, line, match["info"].strip(), match["text"])


def check_of(block: Block) -> Check | None:
    """The check that the language of a block decides; None where the page's line does."""
    match block.info.split():
        case ["sh"] if not _ELSEWHERE.search(block.text) and block.page in SENT:
            return COMMANDS
        case ["sh", *_] if block.page in [each.name for each in PAGES]:
            return held_elsewhere
        case [("py" | "python"), *_]:
            return is_code
        case ["js", *_]:
            return is_script
        case ["sql"]:
            return STATEMENTS
        case ["rust"]:
            return is_of_contracts
        case _ if block.page == "api-reference.md":  # tests/unit/app/test_api_reference.py
            return held_elsewhere
    return None


def checked_blocks(pages: Mapping[str, str]) -> list[tuple[Block, Check | None]]:
    """Every block with its check; None is a fault."""
    rest = defaultdict(lambda: iter(()), {page: iter(each) for page, each in CHECKS.items()})
    found = [
        (block, check_of(block) or next(rest[block.page], None)) for block in read_blocks(pages)
    ]
    last = [(Block(page, 0, "", ""), None) for page, each in rest.items() for _ in each]
    return found + last


def page_faults(pages: Mapping[str, str]) -> list[str]:
    """What is wrong with the blocks of these pages."""
    faults = []
    for block, check in checked_blocks(pages):
        found = check(block.text) if callable(check) else [] if check else ["no check, or no block"]
        faults += [f"{block.page}:{block.line}: {each}" for each in found]
    return faults
