"""The files that are generated from the specs: `scripts/docs` writes them, a test compares them.

- `skills/<slug>/` in the repository: the newest version's documents, for those who install a skill
  from the repository (the Agent Skills format asks for a folder of the skill's name).
- `skills/skill.schema.json`: the schema of a spec.
- `specs/SHA256SUMS`, with the package: the digest of each published version. A line is never
  changed, so that a version never changes either.
"""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from farebox.skills.read_skills import packaged_files, read_skills
from farebox.skills.skill import Skills
from farebox.skills.skill_documents import DocumentKind, write_document
from farebox.skills.spec import spec_schema

FOLDER: Final = "skills"
DIGESTS: Final = "src/farebox/skills/specs/SHA256SUMS"
SCHEMA: Final = "skill.schema.json"
_REFERENCES: Final = "references"  # where the format has files beside SKILL.md


class PublishedVersionChanged(Exception):
    """A published version has another digest, or is gone."""


def generated_files(skills: Skills) -> dict[str, bytes]:
    """Generate the documents: paths in the repository, and contents."""
    found = {f"{FOLDER}/{SCHEMA}": _json(spec_schema())}
    for slug, skill in skills.items():
        for kind in DocumentKind:
            folder = slug if kind is DocumentKind.PAGE else f"{slug}/{_REFERENCES}"
            found[f"{FOLDER}/{folder}/{kind}"] = write_document(skill.latest, kind)
    return found


def read_digests(text: str) -> dict[str, str]:
    """Read the published digests by file name, from the form of `sha256sum`."""
    lines = (line.split("  ", 1) for line in text.splitlines())
    return {name: digest for digest, name in lines}


def add_digests(published: Mapping[str, str], files: Mapping[str, bytes]) -> str:
    """Add the digests of new versions to the published ones; return the text of the file.

    Raises:
        PublishedVersionChanged: a published version is not what it was.
    """
    digests = {name: hashlib.sha256(body).hexdigest() for name, body in files.items()}
    changed = [name for name, digest in published.items() if digests.get(name) != digest]
    if changed:
        raise PublishedVersionChanged(
            f"published versions have changed: {', '.join(sorted(changed))}; write a new version"
        )
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def write_files(root: Path) -> None:
    """Write the generated files below the root of the repository.

    Raises:
        InvalidSkills: a spec breaks a rule.
        PublishedVersionChanged: a published version is not what it was.
    """
    files = packaged_files()
    digests = root / DIGESTS
    published = read_digests(digests.read_text()) if digests.exists() else {}
    digests.write_text(add_digests(published, files))
    for name, body in generated_files(read_skills(files)).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
