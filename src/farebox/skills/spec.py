"""The spec of a skill: what an agent may do with this service, as a contract that a program reads.

A spec is one JSON document for each skill and version (`specs/<slug>/<version>.json`). Everything
else that describes a skill is generated from it. The types here are its schema: `spec_schema`.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.kernel.networks import Network

SCHEMA_VERSION: Final = "1.0"
SLUG: Final = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$(?!\n)"
VERSION: Final = r"^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$(?!\n)"
MAX_SUMMARY: Final = 300
MAX_DESCRIPTION: Final = 1024  # as a description in the frontmatter of SKILL.md

Slug = Annotated[str, Meta(pattern=SLUG, max_length=64)]
Version = Annotated[str, Meta(pattern=VERSION)]
ActionName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$(?!\n)", max_length=48)]
Label = Annotated[str, Meta(min_length=1, max_length=64)]
Sentence = Annotated[str, Meta(min_length=1, max_length=MAX_SUMMARY)]
Sentences = tuple[Sentence, ...]
Code = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*$(?!\n)", max_length=80)]
Reference = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$(?!\n)", max_length=48)]
Path = Annotated[str, Meta(pattern=r"^/[A-Za-z0-9._{}/-]+$(?!\n)", max_length=200)]
Day = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)")]
Address = Annotated[str, Meta(pattern=r"^[GC][A-Z2-7]{55}$(?!\n)")]
JsonSchemaBody = Annotated[dict[str, Any], Meta(description="A JSON Schema, draft 2020-12.")]


class SkillStatus(StrEnum):
    """How far a skill can be relied on."""

    AVAILABLE = "available"  # every action and every error of it is tested
    PREVIEW = "preview"
    REFERENCE = "reference"  # described, not served
    DEPRECATED = "deprecated"


class AuthMode(StrEnum):
    """What a caller has to show or to sign."""

    NONE = "none"
    USER_SESSION = "user_session"
    API_KEY = "api_key"
    X402 = "x402"
    WALLET_AUTH_ENTRY = "wallet_auth_entry"  # a Soroban authorization entry
    WALLET_TRANSACTION = "wallet_transaction"
    SMART_ACCOUNT_SESSION = "smart_account_session"


class ActionKind(StrEnum):
    """What an action does."""

    READ = "read"
    BUILD = "build"  # makes a document to sign; nothing is sent
    SUBMIT = "submit"  # sends a signed document
    PAY = "pay"
    PROPOSE = "propose"
    MANAGE = "manage"  # changes a record of the service


class Idempotency(StrEnum):
    """What a repeated request does."""

    NONE = "none"
    KEY = "key"  # safe with the same Idempotency-Key
    NATURAL = "natural"  # the same request has the same effect once


class Cost(StrEnum):
    """Who pays for an action."""

    FREE = "free"
    X402 = "x402"  # the caller pays the seller's price
    NETWORK_FEE_SPONSORED = "network_fee_sponsored"  # the service pays the network's fee


class ErrorPlace(StrEnum):
    """Where a response holds the code of an error."""

    ERROR_CODE = "error.code"
    INVALID_REASON = "invalidReason"
    ERROR_REASON = "errorReason"
    REASONS_CODE = "reasons[].code"
    NETWORK_REASON = "networks[].reason"
    MCP_REASON = "error.data.reason"


class EndpointAccess(StrEnum):
    """Whether an endpoint needs a credential."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class SkillAsset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token that is named on a network."""

    code: Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{1,12}$(?!\n)")]
    issuer: Address
    contract: Address


class SkillContract(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """A contract that the skill calls on a network."""

    role: Label
    id: Address
    wasm_hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")] | UnsetType = UNSET
    sep: Label | UnsetType = UNSET


class SkillNetwork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network on which the skill can be used."""

    id: Network
    enabled: bool
    contracts: tuple[SkillContract, ...]
    assets: tuple[SkillAsset, ...]


class SkillSafety(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What the skill can do to its user's money.

    `maxExposure` is `0` or the member of an action that bounds the loss, as in `pay.input.amount`.
    """

    moves_funds: bool
    custody: Literal["none"]
    requires_wallet_signature: bool
    simulatable: bool
    reversible: bool
    slippage_bounded: bool
    recipient_bound: bool
    max_exposure: Annotated[str, Meta(pattern=r"^(0|[a-z0-9_]+\.input(\.[A-Za-z0-9]+)+)$(?!\n)")]
    audited: bool
    mainnet_gated: bool


class ActionEffects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The effects in symbols: `input.…` and `output.…` name members of the action."""

    debits: Sentences
    credits: Sentences
    approvals: Sentences
    expiry: Sentence | None


class ActionHints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The hints of an MCP tool."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


class ActionError(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """An error that the same request always gives; `retryable`: it may succeed later as it is."""

    code: Code
    http: Annotated[int, Meta(ge=200, le=599)]
    at: ErrorPlace
    retryable: bool
    cause: Sentence
    remedy: Sentence
    retry_after: Annotated[int, Meta(ge=1, le=86_400)] | UnsetType = UNSET


class ActionExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input and its output."""

    input: dict[str, Any]
    output: dict[str, Any] | None


class SkillAction(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """One request. Where the members of `input` go, `endpoint` says."""

    name: ActionName
    title: Label
    kind: ActionKind
    summary: Sentence
    auth_mode: tuple[AuthMode, ...]
    input: JsonSchemaBody
    output: JsonSchemaBody
    effects: ActionEffects
    preconditions: Sentences
    procedure: Sentences  # the caller's own steps around the request, in their order
    idempotency: Idempotency
    hints: ActionHints
    errors: tuple[ActionError, ...]
    endpoint: Reference
    examples: Annotated[tuple[ActionExample, ...], Meta(min_length=1)]
    cost: Cost


class SkillEndpoint(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """A route, or a tool of `/mcp`, and where the members of an input go.

    A member named in the path stands there, one of `headers` in that header. All others are query
    parameters of GET and DELETE, and the JSON body of POST and PATCH. With `tool` they are the
    `arguments` of `tools/call`, and the output is `structuredContent`.
    """

    ref: Reference
    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: Path
    success: Annotated[int, Meta(ge=200, le=299)]
    auth: EndpointAccess
    rate: Label | None  # the rate class; null: unlimited
    scope: Label | UnsetType = UNSET  # of an API key
    tool: Reference | UnsetType = UNSET
    headers: dict[str, Label] | UnsetType = UNSET


class SkillLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Bounds that hold for every action, and the codes that any of them may answer with."""

    request_bytes: Annotated[int, Meta(ge=0, le=2**24)]
    timeout_seconds: Annotated[int, Meta(ge=1, le=300)]
    notes: Sentences


class SkillChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a version changed."""

    version: Version
    date: Day
    changes: Annotated[Sentences, Meta(min_length=1)]


class SkillDeprecation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """Since when a skill is deprecated, when it ends, and what replaces it."""

    since: Day
    sunset: Day
    replaced_by: Slug | UnsetType = UNSET


class SkillLinks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The generated documents, as paths of the service."""

    skill_md: Path
    openapi: Path
    mcp: Path


class SkillSpec(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    omit_defaults=True,
    kw_only=True,
):
    """A skill in one version."""

    schema_version: Literal["1.0"]
    slug: Slug
    version: Version
    status: SkillStatus
    name: Label
    summary: Sentence
    description: Annotated[str, Meta(min_length=1, max_length=MAX_DESCRIPTION)]
    category: Label
    protocol: Label
    tags: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=24)]
    examples: Annotated[Sentences, Meta(min_length=1, max_length=12)]
    auth_mode: Annotated[tuple[AuthMode, ...], Meta(min_length=1)]
    networks: Annotated[tuple[SkillNetwork, ...], Meta(min_length=1)]
    safety: SkillSafety
    actions: Annotated[tuple[SkillAction, ...], Meta(min_length=1)]
    endpoints: Annotated[tuple[SkillEndpoint, ...], Meta(min_length=1)]
    related: tuple[Slug, ...]
    limits: SkillLimits
    changelog: Annotated[tuple[SkillChange, ...], Meta(min_length=1)]
    deprecation: SkillDeprecation | UnsetType = UNSET
    links: SkillLinks

    def action(self, name: str) -> SkillAction:
        """Return an action; a KeyError where there is none."""
        return {each.name: each for each in self.actions}[name]

    def endpoint(self, ref: str) -> SkillEndpoint:
        """Return an endpoint; a KeyError where there is none."""
        return {each.ref: each for each in self.endpoints}[ref]


decode_spec: Final = msgspec.json.Decoder(SkillSpec).decode


def spec_schema() -> dict[str, Any]:
    """Make the JSON Schema of a spec."""
    schema = msgspec.json.schema(SkillSpec)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
