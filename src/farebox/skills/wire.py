"""The JSON of `/v1/skills`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from farebox.kernel.networks import Network
from farebox.skills.skill import Skill, SkillVersion
from farebox.skills.spec import AuthMode, SkillStatus

Digest = Annotated[
    str,
    Meta(description="SHA-256 of the spec.", extra_json_schema={"pattern": "^[0-9a-f]{64}$"}),
]


class SkillSafetyBody(msgspec.Struct, frozen=True, rename="camel"):
    """What an agent has to know before it chooses a skill."""

    moves_funds: bool
    requires_wallet_signature: bool


class SkillBody(msgspec.Struct, frozen=True, rename="camel"):
    """A skill in its newest version; `specUrl` names that version and never changes."""

    slug: str
    version: str
    name: str
    summary: str
    category: str
    protocol: str
    networks: list[Network]
    actions: list[str]
    status: SkillStatus
    auth_mode: list[AuthMode]
    safety: SkillSafetyBody
    spec_url: str
    sha256: Digest


class SkillListBody(msgspec.Struct, frozen=True):
    """The skills that fit, those first whose names have the words of the query."""

    items: list[SkillBody]
    total: int


class SkillVersionBody(msgspec.Struct, frozen=True, rename="camel"):
    """A version of a skill."""

    version: str
    status: SkillStatus
    spec_url: str
    sha256: Digest


class SkillVersionListBody(msgspec.Struct, frozen=True):
    """Every version of a skill, newest first; none is ever taken away."""

    items: list[SkillVersionBody]
    total: int


def skill_list_body(skills: Sequence[SkillVersion], origin: str) -> SkillListBody:
    """Render a list of skills; `origin` is the public URL of the service."""
    return SkillListBody([_skill_body(each, origin) for each in skills], len(skills))


def version_list_body(skill: Skill, origin: str) -> SkillVersionListBody:
    """Render the versions of a skill."""
    items = [
        SkillVersionBody(each.spec.version, each.spec.status, spec_url(each, origin), each.sha256)
        for each in skill.versions
    ]
    return SkillVersionListBody(items, len(items))


def spec_url(version: SkillVersion, origin: str) -> str:
    """Return the URL of a version's spec."""
    return f"{origin}/v1/skills/{version.spec.slug}/spec?version={version.spec.version}"


def _skill_body(version: SkillVersion, origin: str) -> SkillBody:
    spec = version.spec
    safety = SkillSafetyBody(spec.safety.moves_funds, spec.safety.requires_wallet_signature)
    return SkillBody(
        slug=spec.slug,
        version=spec.version,
        name=spec.name,
        summary=spec.summary,
        category=spec.category,
        protocol=spec.protocol,
        networks=[each.id for each in spec.networks if each.enabled],
        actions=[each.name for each in spec.actions],
        status=spec.status,
        auth_mode=list(spec.auth_mode),
        safety=safety,
        spec_url=spec_url(version, origin),
        sha256=version.sha256,
    )
