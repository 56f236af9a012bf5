"""The documents of a skill, each written once, when it is first asked for."""

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from farebox.skills.openapi_fragment import openapi_fragment
from farebox.skills.skill import SkillVersion
from farebox.skills.skill_page import skill_page
from farebox.skills.tool_list import tool_list


class SkillDocumentKind(StrEnum):
    """The documents that are generated from a spec, by the names of their files."""

    PAGE = "SKILL.md"
    TOOLS = "mcp-tools.json"
    OPENAPI = "openapi.json"


_WRITERS: Final[dict[SkillDocumentKind, Callable[[SkillVersion], bytes]]] = {
    SkillDocumentKind.PAGE: lambda version: skill_page(version).encode(),
    SkillDocumentKind.TOOLS: lambda version: _json(tool_list(version.spec)),
    SkillDocumentKind.OPENAPI: lambda version: _json(openapi_fragment(version.spec)),
}


def write_document(version: SkillVersion, kind: SkillDocumentKind) -> bytes:
    """Write a document of a version."""
    return _WRITERS[kind](version)


def entity_tag(body: bytes) -> str:
    """Return the strong entity tag of a document: its SHA-256, quoted."""
    return f'"{hashlib.sha256(body).hexdigest()}"'


class SkillDocuments:
    """The documents that were written."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str, SkillDocumentKind], bytes] = {}

    def find(self, version: SkillVersion, kind: SkillDocumentKind) -> bytes:
        """Return a document of a version; it is written the first time."""
        key = version.spec.slug, version.spec.version, kind
        if key not in self._documents:
            self._documents[key] = write_document(version, kind)
        return self._documents[key]


def _json(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
