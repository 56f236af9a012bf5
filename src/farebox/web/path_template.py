"""Paths with parameters, as routes declare them: `/v1/things/{id}`."""

import re
from typing import Final

_PARAMETER: Final = re.compile(r"\\\{(\w+)\\\}")


def compile_path(template: str) -> re.Pattern[str]:
    """The pattern of the paths of a template: each parameter is one segment, a named group."""
    pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(template))
    return re.compile(rf"{pattern}\Z")
