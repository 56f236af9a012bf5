"""Reasons against listing a settled payment's resource or one of its fields."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

_MAX_DETAIL: Final = 160


class DropReason(StrEnum):
    """A machine-readable reason; a code never changes its meaning."""

    DISCOVERY_UNREADABLE = "discovery_unreadable"
    DISCOVERY_TOO_LARGE = "discovery_too_large"
    DISCOVERY_TOO_COMPLEX = "discovery_too_complex"

    RESOURCE_URL_MISSING = "resource_url_missing"
    RESOURCE_URL_INVALID = "resource_url_invalid"
    RESOURCE_URL_TOO_LONG = "resource_url_too_long"
    RESOURCE_URL_SCHEME = "resource_url_scheme_unsupported"
    RESOURCE_URL_USERINFO = "resource_url_has_userinfo"
    RESOURCE_HOST_INVALID = "resource_host_invalid"
    RESOURCE_HOST_NOT_PUBLIC = "resource_host_not_public"

    INFO_MISSING = "info_missing"
    INPUT_TYPE_UNSUPPORTED = "input_type_unsupported"
    METHOD_UNSUPPORTED = "method_unsupported"
    BODY_TYPE_INVALID = "body_type_invalid"
    BODY_NOT_ALLOWED = "body_not_allowed"
    TOOL_NAME_INVALID = "tool_name_invalid"
    INPUT_SCHEMA_MISSING = "input_schema_missing"
    TRANSPORT_UNSUPPORTED = "transport_unsupported"
    INFO_FIELD_INVALID = "info_field_invalid"

    SCHEMA_MISSING = "schema_missing"
    SCHEMA_DRAFT_UNSUPPORTED = "schema_draft_unsupported"
    SCHEMA_REFERENCE_REFUSED = "schema_reference_refused"
    SCHEMA_PATTERN_REFUSED = "schema_pattern_refused"
    SCHEMA_TOO_COSTLY = "schema_too_costly"
    SCHEMA_INVALID = "schema_invalid"
    INFO_DOES_NOT_MATCH_SCHEMA = "info_does_not_match_schema"


REGISTRY: Final = MappingProxyType(
    {
        DropReason.DISCOVERY_UNREADABLE: "resource or extensions.bazaar is not a JSON object.",
        DropReason.DISCOVERY_TOO_LARGE: "resource and extensions.bazaar exceed 64 KB together.",
        DropReason.DISCOVERY_TOO_COMPLEX: "extensions.bazaar is nested too deep or has too many "
        "values.",
        DropReason.RESOURCE_URL_MISSING: "resource.url is missing or no text.",
        DropReason.RESOURCE_URL_INVALID: "resource.url is not an absolute URL, or holds blanks, "
        "control characters, backslashes or broken percent escapes.",
        DropReason.RESOURCE_URL_TOO_LONG: "resource.url is longer than 2048 characters.",
        DropReason.RESOURCE_URL_SCHEME: "resource.url must be https, or mcp://tool/<name> for a "
        "tool.",
        DropReason.RESOURCE_URL_USERINFO: "resource.url must not hold a user name or password.",
        DropReason.RESOURCE_HOST_INVALID: "The host or port of resource.url is not valid.",
        DropReason.RESOURCE_HOST_NOT_PUBLIC: "The host of resource.url is an IP address or a name "
        "without a meaning on the public internet.",
        DropReason.INFO_MISSING: "info or info.input is missing or not an object.",
        DropReason.INPUT_TYPE_UNSUPPORTED: "info.input.type must be http or mcp.",
        DropReason.METHOD_UNSUPPORTED: "info.input.method must be GET, HEAD, DELETE, POST, PUT or "
        "PATCH.",
        DropReason.BODY_TYPE_INVALID: "info.input.bodyType must be json, form-data or text.",
        DropReason.BODY_NOT_ALLOWED: "info.input.body and bodyType belong to POST, PUT and PATCH.",
        DropReason.TOOL_NAME_INVALID: "info.input.toolName must be 1 to 128 letters, digits, "
        "underscores, hyphens and dots, the name in an mcp://tool/ URL.",
        DropReason.INPUT_SCHEMA_MISSING: "info.input.inputSchema of a tool must be an object.",
        DropReason.TRANSPORT_UNSUPPORTED: "info.input.transport must be streamable-http or sse.",
        DropReason.INFO_FIELD_INVALID: "A field of info has another type than it must have.",
        DropReason.SCHEMA_MISSING: "schema is missing or not an object.",
        DropReason.SCHEMA_DRAFT_UNSUPPORTED: "schema must be JSON Schema draft 2020-12.",
        DropReason.SCHEMA_REFERENCE_REFUSED: "schema may refer only to places in itself, by $ref "
        "that starts with #.",
        DropReason.SCHEMA_PATTERN_REFUSED: "A pattern in schema is too long, or not a regular "
        "expression without look-around and back-references; or there are too many.",
        DropReason.SCHEMA_TOO_COSTLY: "Holding info against schema could take too many steps.",
        DropReason.SCHEMA_INVALID: "schema is not a valid JSON Schema.",
        DropReason.INFO_DOES_NOT_MATCH_SCHEMA: "info does not match schema.",
    }
)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A resource that is not listed; `detail` is added to the reason's sentence."""

    reason: DropReason
    detail: str = ""

    @property
    def sentence(self) -> str:
        """The reason as a sentence: printable ASCII, bounded."""
        sentence = REGISTRY[self.reason]
        return f"{sentence} ({_printable(self.detail)})" if self.detail else sentence


@dataclass(frozen=True, slots=True)
class FieldDropped:
    """A field of an accepted resource that is not listed with it."""

    field: str
    sentence: str


def _printable(text: str) -> str:
    shown = "".join(c if " " <= c <= "~" else "?" for c in text[: _MAX_DETAIL + 1])
    return shown if len(shown) <= _MAX_DETAIL else shown[: _MAX_DETAIL - 3] + "..."
