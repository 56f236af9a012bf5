import sys
from pathlib import Path

import pytest

from e2e.page_runner import PageRunner
from e2e.snippets import Kind, Snippet, read_snippets

PAGE = """
```sh given
export NAME=somebody
```

```js hello.mjs
console.log("at :4021");
```

```sh
grep -q :4099 hello.mjs
export SEEN=$NAME
```

<!-- by hand: visit -->

```json
{"not": "run"}
```

```sh
test "$SEEN $(cat visited)" = "a reader yes"
```
"""


def runner(folder: Path, **given: str) -> PageRunner:
    return PageRunner(
        folder,
        given=given,
        surroundings={},
        by_hand={"visit": "echo yes > visited"},
        replaced={":4021": ":4099"},
    )


async def test_page_runs_in_order_in_one_environment(tmp_path: Path) -> None:
    reader = runner(tmp_path, NAME="a reader")
    await reader.run("page.md", read_snippets(PAGE))
    assert (reader.count, reader.failed) == (5, [])


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (PAGE.replace("grep -q", "grep -q nothing"), 10),
        (PAGE.replace("export NAME", "export OTHER"), 2),
        (PAGE.replace('= "a reader yes"', '= ""'), 21),
        (PAGE.replace("```sh\n", "```sh server\n", 1), 10),
    ],
)
async def test_broken_snippet_fails_its_page(tmp_path: Path, broken: str, line: int) -> None:
    reader = runner(tmp_path, NAME="a reader")
    await reader.run("page.md", read_snippets(broken))
    assert [fault.split(": ")[0] for fault in reader.failed] == [f"page.md:{line}"]


async def test_server_runs_until_the_runner_closes(tmp_path: Path) -> None:
    reader = runner(tmp_path)
    serve = f'{sys.executable} -u -c \'print(1); open("up", "w"); import time; time.sleep(60)\''
    command = "until test -f up; do sleep 0.05; done"
    steps = [Snippet(Kind.SERVER, 1, serve), Snippet(Kind.RUN, 2, command)]
    await reader.run("page.md", steps)
    await reader.aclose()
    assert reader.failed == []


def test_fence_of_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 1"):
        read_snippets("```sh sideways\n```\n")


@pytest.mark.parametrize("name", ["sell.md", "buy.md"])
def test_documented_pages_have_snippets_of_every_kind(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / name).read_text()
    assert {Kind.GIVEN, Kind.RUN, Kind.FILE} <= {each.kind for each in read_snippets(page)}


def test_documented_gateway_has_snippets_that_are_run() -> None:
    page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text()
    kinds = [each.kind for each in read_snippets(page)]
    assert (kinds[0], kinds.count(Kind.RUN)) == (Kind.GIVEN, 7)
