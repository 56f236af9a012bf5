"""Where the members of an action's input go in its request."""

import re
from enum import StrEnum
from typing import Final

from farebox.skills.spec import SkillEndpoint

_PATH_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_WITHOUT_BODY: Final = frozenset({"GET", "DELETE"})


class MemberPlace(StrEnum):
    """A part of a request."""

    PATH = "path"
    HEADER = "header"
    QUERY = "query"
    BODY = "body"
    ARGUMENTS = "arguments"  # of `tools/call`


def path_parameters(endpoint: SkillEndpoint) -> list[str]:
    """Return the names that stand in the path."""
    return _PATH_PARAMETER.findall(endpoint.path)


def place_of(endpoint: SkillEndpoint, name: str) -> MemberPlace:
    """Return where a member goes."""
    if endpoint.tool:
        return MemberPlace.ARGUMENTS
    if name in path_parameters(endpoint):
        return MemberPlace.PATH
    if name in (endpoint.headers or {}):
        return MemberPlace.HEADER
    return MemberPlace.QUERY if endpoint.method in _WITHOUT_BODY else MemberPlace.BODY
