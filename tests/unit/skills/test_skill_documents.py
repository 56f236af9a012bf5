"""The generated documents: their formats, and the committed files."""

import re
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from schemathesis.core.result import Ok

from farebox.skills.generated_files import (
    DIGESTS,
    FOLDER,
    PublishedVersionChanged,
    add_digests,
    generated_files,
    read_digests,
    write_files,
)
from farebox.skills.openapi_fragment import openapi_fragment
from farebox.skills.read_skills import read_skills
from farebox.skills.skill_page import MAX_BODY_LINES, skill_page
from farebox.skills.spec import MAX_DESCRIPTION, spec_schema
from farebox.skills.tool_list import tool_list
from support.promises import promise
from support.skills import FILES, SKILLS, VERSIONS, changed, small_spec, version_of

ROOT: Final = Path(__file__).parents[3]
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PROPERTY: Final = re.compile(r'^(name|description|license|compatibility): ?"?(.*?)"?$')


def test_committed_files_are_current() -> None:
    expected = generated_files(SKILLS)
    folder = ROOT / FOLDER
    committed = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert committed == expected, "run scripts/docs"


def test_committed_file_differs_when_a_spec_does() -> None:
    small = read_skills({**FILES})
    (own,) = [each for each in VERSIONS if each.spec.slug == "receipt-verify"]
    spec = changed(msgspec.json.decode(own.body, type=dict[str, Any]), "summary", "Another one.")
    other = {**small, "receipt-verify": type(small["receipt-verify"])((version_of(spec),))}
    names = {
        name
        for name, body in generated_files(other).items()
        if generated_files(small)[name] != body
    }
    assert names == {
        "skills/receipt-verify/SKILL.md",
        "skills/receipt-verify/references/openapi.json",
    }


@promise("skills:versioned-registry")
def test_published_version_has_the_digest_that_was_committed() -> None:
    published = (ROOT / DIGESTS).read_text()
    assert add_digests(read_digests(published), FILES) == published, "run scripts/docs"


def test_changed_or_missing_version_is_noticed_and_a_new_one_is_added() -> None:
    published = read_digests((ROOT / DIGESTS).read_text())
    name = "x402-pay/1.0.0.json"
    for files in (FILES | {name: FILES[name] + b" "}, {name: FILES[name]}):
        with pytest.raises(PublishedVersionChanged):
            add_digests(published, files)
    more = add_digests(published, FILES | {"x402-pay/1.1.0.json": b"{}"})
    assert set(read_digests(more)) - set(published) == {"x402-pay/1.1.0.json"}


def test_files_are_written_once_and_refused_when_a_version_changed(tmp_path: Path) -> None:
    digests = tmp_path / DIGESTS
    digests.parent.mkdir(parents=True)
    write_files(tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_files(tmp_path)
    assert {path: path.read_bytes() for path in first} == first
    digests.write_text(digests.read_text().replace("a", "b"))
    with pytest.raises(PublishedVersionChanged):
        write_files(tmp_path)


def test_pages_keep_the_agent_skills_format() -> None:
    faulty = []
    for version in VERSIONS:
        _, frontmatter, body = skill_page(version).split("---\n", 2)
        matched = map(_PROPERTY.match, frontmatter.splitlines())
        properties = {found[1]: found[2] for found in matched if found}
        keeps = (
            properties["name"] == version.spec.slug,
            re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", properties["name"]) is not None,
            0 < len(properties["description"]) <= MAX_DESCRIPTION,
            properties["license"] == "Apache-2.0",
            len(properties["compatibility"]) <= 500,
            len(body.splitlines()) < MAX_BODY_LINES,
            f'spec-sha256: "{version.sha256}"' in frontmatter,
        )
        if not all(keeps):
            faulty.append((version.spec.slug, keeps))
    assert faulty == []


def test_pages_have_every_action_member_and_error() -> None:
    missing = []
    for version in VERSIONS:
        page = skill_page(version)
        for action in version.spec.actions:
            section = page.partition(f"\n### {action.name}\n")[2].partition("\n### ")[0]
            names = (*action.input["properties"], *(each.code for each in action.errors))
            wanted = (action.summary, *(f"`{name}`" for name in names))
            absent = [each for each in wanted if each not in section]
            missing += [(version.spec.slug, action.name, each) for each in absent]
    assert missing == []


def test_description_with_quotes_and_line_breaks_stays_one_line_of_yaml() -> None:
    version = version_of(small_spec("receipts", description='Say "yes":\nno - # {x}'))
    line = skill_page(version).splitlines()[2]
    assert line == 'description: "Say \\"yes\\":\\nno - # {x}"'


def test_names_of_tools_are_unique_and_allowed() -> None:
    tools = [tool for each in VERSIONS for tool in tool_list(each.spec)["tools"]]
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names) > 30
    assert [name for name in names if not _TOOL.fullmatch(name)] == []
    for tool in tools:
        assert tool["inputSchema"]["type"] == "object"
        assert tool.get("outputSchema", {"type": "object"})["type"] == "object"
        assert set(tool["_meta"]["farebox/request"]["members"]) == set(
            tool["inputSchema"]["properties"]
        )


def test_openapi_fragments_have_every_endpoint_and_can_be_read() -> None:
    faulty = []
    for version in VERSIONS:
        document = openapi_fragment(version.spec)
        found = schemathesis.openapi.from_dict(document).get_all_operations()
        operations = [each.ok() for each in found if isinstance(each, Ok)]
        named = {(each.method.upper(), each.path) for each in operations}
        missing = named ^ {(each.method, each.path) for each in version.spec.endpoints}
        bodies = [
            content["schema"]
            for methods in document["paths"].values()
            for operation in methods.values()
            for place in (operation.get("requestBody", {}), *operation["responses"].values())
            for content in place.get("content", {}).values()
        ]
        unreadable = [schema for schema in bodies if not jsonschema_rs.meta.is_valid(schema)]
        if missing or unreadable:
            faulty.append((version.spec.slug, missing, unreadable))
    assert faulty == []


def test_schema_of_a_spec_is_valid() -> None:
    assert jsonschema_rs.meta.is_valid(spec_schema())
