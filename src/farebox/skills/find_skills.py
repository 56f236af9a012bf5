"""Find skills by what an agent knows of them: words, a protocol, a network or an action."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.skills.skill import Skill, Skills, SkillVersion
from farebox.skills.spec import SkillSpec

_WEIGHTS: Final = (8, 4, 2, 1)  # of the groups of texts, as `_texts` yields them


class SkillNotFound(Refusal):
    """There is no skill of that slug."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.SKILL_NOT_FOUND)


class SkillVersionNotFound(Refusal):
    """The skill has no such version."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.SKILL_VERSION_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class SkillFilter:
    """What a skill has to have; None does not matter. All but `query` are compared literally."""

    query: str | None = None
    protocol: str | None = None
    network: str | None = None
    action: str | None = None


def find_skill(skills: Skills, slug: str) -> Skill:
    """Find a skill.

    Raises:
        SkillNotFound: there is none of that slug.
    """
    skill = skills.get(slug)
    if skill is None:
        raise SkillNotFound
    return skill


def find_version(skill: Skill, version: str | None) -> SkillVersion:
    """Find a version of a skill, the newest for None.

    Raises:
        SkillVersionNotFound: it has none of that name.
    """
    if version is None:
        return skill.latest
    found = next((each for each in skill.versions if each.spec.version == version), None)
    if found is None:
        raise SkillVersionNotFound
    return found


def list_skills(skills: Skills, wanted: SkillFilter) -> Sequence[SkillVersion]:
    """List the skills that fit, those first whose more important texts have the words."""
    found = [
        (_score(skill.latest.spec, wanted.query), skill.latest)
        for skill in skills.values()
        if _fits(skill.latest.spec, wanted)
    ]
    ranked = sorted(found, key=lambda each: (-each[0], each[1].spec.slug))
    return [skill for score, skill in ranked if score > 0]


def _fits(spec: SkillSpec, wanted: SkillFilter) -> bool:
    networks = [each.id.value for each in spec.networks if each.enabled]
    checks = (
        (wanted.protocol, [spec.protocol]),
        (wanted.network, networks),
        (wanted.action, [each.name for each in spec.actions]),
    )
    return all(value is None or value in known for value, known in checks)


def _score(spec: SkillSpec, query: str | None) -> int:
    """Score a skill: 0 unless every word of the query stands somewhere in its texts."""
    words = (query or "").casefold().split()
    groups = [" ".join(texts).casefold() for texts in _texts(spec)]
    scores = [
        sum(weight for weight, text in zip(_WEIGHTS, groups, strict=True) if word in text)
        for word in words
    ]
    if query is None:
        return 1
    return sum(scores) if scores and all(scores) else 0


def _texts(spec: SkillSpec) -> Iterator[list[str]]:
    """Yield the texts that a query may meet, the most important ones first."""
    actions = spec.actions
    yield [spec.slug, spec.name, *(each.name for each in actions)]
    yield [spec.protocol, spec.category, *spec.tags, *(each.title for each in actions)]
    yield [spec.summary, *(each.summary for each in actions)]
    yield [spec.description, *spec.examples]
