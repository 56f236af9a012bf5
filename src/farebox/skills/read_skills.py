"""Read the packaged specs, once, when the service starts; no request opens a file."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, Final

import jsonschema_rs
import msgspec

from farebox.kernel.errors import CommandRefused
from farebox.skills.compatibility import breaking_changes
from farebox.skills.skill import Skill, Skills, SkillVersion
from farebox.skills.spec import decode_spec, spec_schema
from farebox.skills.spec_rules import judge_spec

SUFFIX: Final = ".json"
_MAX_SHOWN: Final = 10  # faults in a message


class InvalidSkills(CommandRefused):
    """Packaged specs break a rule; the message names file, place and rule."""

    def __init__(self, faults: Iterable[str]) -> None:
        found = list(faults)
        shown = "".join(f"\n  {each}" for each in found[:_MAX_SHOWN])
        super().__init__(f"The skills cannot be served; {len(found)} faults in their specs:{shown}")


def packaged_files() -> dict[str, bytes]:
    """Read the packaged specs: their names, `<slug>/<version>.json`, and their bytes."""
    folder = resources.files("farebox") / "skills" / "specs"
    return {
        f"{skill.name}/{file.name}": file.read_bytes()
        for skill in folder.iterdir()
        if skill.is_dir()
        for file in skill.iterdir()
        if file.name.endswith(SUFFIX)
    }


@cache
def packaged_skills() -> Skills:
    """Read the packaged specs, once a process: judging them is most of the work of a start.

    Raises:
        InvalidSkills: as for `read_skills`.
    """
    return read_skills(packaged_files())


def read_skills(files: Mapping[str, bytes]) -> Skills:
    """Read specs from their files.

    Raises:
        InvalidSkills: a spec does not fit the schema, or breaks a rule.
    """
    validator = jsonschema_rs.Draft202012Validator(spec_schema(), offline=True)
    faults: list[str] = []
    by_slug: dict[str, list[SkillVersion]] = {}
    for name, body in sorted(files.items()):
        found = [f"{name}: {fault}" for fault in _judge_file(name, body, validator)]
        faults += found
        if not found:
            version = SkillVersion(decode_spec(body), body)
            by_slug.setdefault(version.spec.slug, []).append(version)
    skills = {slug: _skill_of(versions) for slug, versions in sorted(by_slug.items())}
    faults += [] if faults else _judge_together(skills)
    if faults:
        raise InvalidSkills(faults)
    return skills


def _judge_file(
    name: str, body: bytes, validator: jsonschema_rs.Draft202012Validator
) -> Iterator[str]:
    try:
        document: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield "not a JSON document"
        return
    misfits = [
        f"{'/'.join(map(str, error.instance_path)) or 'the document'}: {error.message}"
        for error in validator.iter_errors(document)
    ]
    yield from misfits
    if misfits:
        return
    spec = decode_spec(body)
    if name != f"{spec.slug}/{spec.version}{SUFFIX}":
        yield "slug and version are not those of the file's name"
    yield from judge_spec(spec)


def _skill_of(versions: list[SkillVersion]) -> Skill:
    return Skill(tuple(sorted(versions, key=lambda each: each.number, reverse=True)))


def _judge_together(skills: Skills) -> list[str]:
    """Judge what several specs have to agree on."""
    faults = []
    for slug, skill in skills.items():
        unknown = sorted(set(skill.latest.spec.related) - skills.keys())
        faults += [f"{slug}: there is no related skill {each}" for each in unknown]
        for new, old in pairwise(skill.versions):
            if new.number[0] == old.number[0]:
                name = f"{slug}/{new.spec.version}{SUFFIX}"
                changes = breaking_changes(old.spec, new.spec)
                faults += [f"{name}: {each}, which needs a major version" for each in changes]
    return faults
