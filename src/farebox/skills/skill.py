"""A skill in one version: its spec, and the bytes that stand for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

from farebox.skills.spec import SkillSpec

VersionNumber = NewType("VersionNumber", tuple[int, ...])


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """A published version. It never changes; `body` is the spec as it was written."""

    spec: SkillSpec
    body: bytes

    @property
    def number(self) -> VersionNumber:
        """The version as numbers, by which versions are ordered."""
        return parse_version(self.spec.version)

    @property
    def sha256(self) -> str:
        """SHA-256 of the body in hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill in all its versions, the newest first."""

    versions: tuple[SkillVersion, ...]

    @property
    def latest(self) -> SkillVersion:
        """The newest version."""
        return self.versions[0]

    @property
    def slug(self) -> str:
        """The name by which the skill is asked for."""
        return self.latest.spec.slug


Skills = Mapping[str, Skill]  # by slug, in the order of the slugs


def parse_version(text: str) -> VersionNumber:
    """Read a semantic version that the schema of a spec allows."""
    return VersionNumber(tuple(map(int, text.split("."))))
