"""The composition root of the skills."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.gateway_services import gateway_url
from farebox.app.settings import Settings
from farebox.skills.http import skill_endpoints
from farebox.skills.read_skills import packaged_skills
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class SkillServices:
    """The constructed routes; nothing runs."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop] = ()
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_skills(settings: Settings) -> SkillServices:
    """Read the packaged skills and build their routes.

    Raises:
        InvalidSkills: a spec breaks a rule.
    """
    origin = gateway_url(settings).origin
    return SkillServices(skill_endpoints(packaged_skills(), origin, list(settings.networks)))
