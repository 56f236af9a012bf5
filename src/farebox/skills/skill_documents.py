"""The documents of a skill, made once when the service starts."""

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from farebox.skills.openapi_fragment import openapi_fragment
from farebox.skills.skill import Skills, SkillVersion
from farebox.skills.skill_page import skill_page
from farebox.skills.tool_list import tool_list


class DocumentKind(StrEnum):
    """The documents that are generated from a spec, by the names of their files."""

    PAGE = "SKILL.md"
    TOOLS = "mcp-tools.json"
    OPENAPI = "openapi.json"


_WRITERS: Final[dict[DocumentKind, Callable[[SkillVersion], bytes]]] = {
    DocumentKind.PAGE: lambda version: skill_page(version).encode(),
    DocumentKind.TOOLS: lambda version: _json(tool_list(version.spec)),
    DocumentKind.OPENAPI: lambda version: _json(openapi_fragment(version.spec)),
}


def write_document(version: SkillVersion, kind: DocumentKind) -> bytes:
    """Write a document of a version."""
    return _WRITERS[kind](version)


def entity_tag(body: bytes) -> str:
    """Return the strong entity tag of a document: its SHA-256, quoted."""
    return f'"{hashlib.sha256(body).hexdigest()}"'


class SkillDocuments:
    """Every document of every version."""

    def __init__(self, skills: Skills) -> None:
        self._documents = {
            (slug, version.spec.version, kind): write_document(version, kind)
            for slug, skill in skills.items()
            for version in skill.versions
            for kind in DocumentKind
        }

    def find(self, version: SkillVersion, kind: DocumentKind) -> bytes:
        """Return a document of a version."""
        return self._documents[version.spec.slug, version.spec.version, kind]


def _json(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
