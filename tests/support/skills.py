"""Specs of skills: the packaged ones, and small ones that a test changes."""

import copy
from typing import Any, Final

import msgspec

from farebox.skills.read_skills import packaged_files, read_skills
from farebox.skills.skill import Skills, SkillVersion
from farebox.skills.spec import decode_spec

Json = dict[str, Any]
FILES: Final = packaged_files()
SKILLS: Final[Skills] = read_skills(FILES)
VERSIONS: Final = [each for skill in SKILLS.values() for each in skill.versions]
NAMES: Final = [f"{each.spec.slug}/{each.spec.version}" for each in VERSIONS]
_BASE: Final = "token-transfer/1.0.0.json"


def spec_json(name: str = _BASE) -> Json:
    """Return a packaged spec as JSON, which may be changed."""
    return msgspec.json.decode(FILES[name], type=Json)


def small_spec(slug: str, version: str = "1.0.0", **members: Any) -> Json:
    """Return a spec of one action, with some members changed."""
    spec = spec_json("receipt-verify/1.0.0.json")
    links = {
        "skillMd": f"/v1/skills/{slug}/SKILL.md",
        "openapi": f"/v1/skills/{slug}/openapi.json",
        "mcp": f"/v1/skills/{slug}/mcp-tools.json",
    }
    change = {"version": version, "date": "2026-11-25", "changes": ["A version."]}
    own = {"slug": slug, "version": version, "links": links, "changelog": [change], "related": []}
    return spec | own | members


def changed(spec: Json, path: str, value: object) -> Json:
    """Return a copy with the member at a path such as `actions/0/errors` replaced."""
    whole, place, last = _at(spec, path)
    place[last] = value
    return whole


def without(spec: Json, path: str) -> Json:
    """Return a copy without the member at a path."""
    whole, place, last = _at(spec, path)
    del place[last]
    return whole


def _at(spec: Json, path: str) -> tuple[Json, Any, str | int]:
    """A copy, and the place of a member in it."""
    whole = copy.deepcopy(spec)
    *steps, last = path.split("/")
    place: Any = whole
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    return whole, place, int(last) if isinstance(place, list) else last


def file_of(spec: Json) -> dict[str, bytes]:
    """Return the file of a spec, under the name that it has to have."""
    return {f"{spec['slug']}/{spec['version']}.json": msgspec.json.encode(spec)}


def version_of(spec: Json) -> SkillVersion:
    """Return a spec as a version of its skill."""
    body = msgspec.json.encode(spec)
    return SkillVersion(decode_spec(body), body)
