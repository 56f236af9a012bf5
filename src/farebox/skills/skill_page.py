"""`SKILL.md` of a skill, in the Agent Skills format: frontmatter for activation, then the use.

The format limits the description to 1,024 characters and asks for a body of less than 500 lines.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from farebox.skills.member_place import place_of
from farebox.skills.schema_rules import properties_of
from farebox.skills.skill import SkillVersion
from farebox.skills.spec import EndpointAccess, SkillAction, SkillEndpoint, SkillSafety

MAX_BODY_LINES: Final = 500
_COMPATIBILITY: Final = (
    "Needs HTTPS access to a Farebox service, and for payments a Stellar wallet."
)
_CREDENTIAL: Final = "`Authorization: Bearer …` with a session or an API key"


def skill_page(version: SkillVersion) -> str:
    """Write the page of a skill."""
    spec = version.spec
    lines = [*_frontmatter(version), "", f"# {spec.name}", "", spec.summary, ""]
    lines += [
        "Paths are below the base URL of a Farebox service: that of this page before `/v1`.",
        f"The contract is [the spec](/v1/skills/{spec.slug}/spec?version={spec.version}):",
        "its schemas and errors are complete, and this page is made from it.",
    ]
    lines += ["", "## Use it when someone says", ""]
    lines += [f"- {each}" for each in spec.examples]
    lines += ["", "## Before you act", "", *_safety(spec.safety)]
    lines += [f"- Networks: {', '.join(each.id for each in spec.networks if each.enabled)}."]
    lines += [f"- {each}" for each in spec.limits.notes]
    lines += ["", "## Actions"]
    for action in spec.actions:
        lines += ["", *_action(action, spec.endpoint(action.endpoint))]
    if spec.related:
        lines += ["", "## Related skills", ""]
        lines += [f"- [{each}](/v1/skills/{each}/SKILL.md)" for each in spec.related]
    return "\n".join(lines) + "\n"


def _frontmatter(version: SkillVersion) -> list[str]:
    """Write the frontmatter; a JSON string is a YAML string."""
    spec = version.spec
    return [
        "---",
        f"name: {spec.slug}",
        f"description: {_quote(spec.description)}",
        "license: Apache-2.0",
        f"compatibility: {_quote(_COMPATIBILITY)}",
        "metadata:",
        f"  version: {_quote(spec.version)}",
        f"  protocol: {_quote(spec.protocol)}",
        f"  status: {_quote(spec.status)}",
        f"  spec-sha256: {_quote(version.sha256)}",
        "---",
    ]


def _safety(safety: SkillSafety) -> Iterator[str]:
    if safety.moves_funds:
        final = "can be taken back" if safety.reversible else "cannot be taken back"
        yield f"- It moves funds: at most `{safety.max_exposure}`, and a payment {final}."
        yield "- Ask the user before each payment."
    else:
        yield "- It moves no funds."
    if safety.requires_wallet_signature:
        yield "- The wallet signs. Never ask for a secret key or a recovery phrase."


def _action(action: SkillAction, endpoint: SkillEndpoint) -> Iterator[str]:
    yield f"### {action.name}"
    yield ""
    yield f"{action.summary} {_request(endpoint)}"
    if action.preconditions:
        yield ""
        yield from (f"- Needs: {each}" for each in action.preconditions)
    if action.procedure:
        yield ""
        yield from (f"{at}. {each}" for at, each in enumerate(action.procedure, start=1))
    members = properties_of(action.input)
    if members:
        yield ""
        yield "| member | in | type | |"
        yield "|---|---|---|---|"
        required = action.input.get("required", ())
        for name, schema in members.items():
            place = place_of(endpoint, name).value
            need = "required. " if name in required else ""
            words = schema.get("description", "")
            yield f"| `{name}` | {place} | {_type(schema)} | {need}{words} |"
    returned = ", ".join(f"`{name}`" for name in _output_names(action.output))
    yield ""
    yield f"Returns {returned}." if returned else "Returns no body."
    yield from _errors(action)
    yield from _example(action)


def _request(endpoint: SkillEndpoint) -> str:
    what = f"`{endpoint.method} {endpoint.path}`"
    if endpoint.tool:
        what = f"`tools/call` of `{endpoint.tool}` at {what}"
    match endpoint.auth:
        case EndpointAccess.REQUIRED:
            return f"{what}, {_CREDENTIAL}."
        case EndpointAccess.OPTIONAL:
            return f"{what}, where the service asks for it {_CREDENTIAL}."
        case _:
            return f"{what}, without a credential."


def _errors(action: SkillAction) -> Iterator[str]:
    if not action.errors:
        return
    yield ""
    yield "| error | status | at | again? | cause and remedy |"
    yield "|---|---|---|---|---|"
    for error in action.errors:
        again = "yes" if error.retryable else "no"
        words = f"{error.cause} {error.remedy}"
        yield f"| `{error.code}` | {error.http} | `{error.at}` | {again} | {words} |"


def _example(action: SkillAction) -> Iterator[str]:
    example = action.examples[0]
    yield ""
    yield "```json"
    yield f'{{"input": {_dense(example.input)},'
    yield f' "output": {_dense(example.output)}}}'
    yield "```"


def _output_names(schema: Mapping[str, Any]) -> list[str]:
    alternatives = [schema, *schema.get("anyOf", ())]
    return list(dict.fromkeys(name for each in alternatives for name in properties_of(each)))


def _type(schema: Mapping[str, Any]) -> str:
    """Name the type of a member in a few words."""
    if "const" in schema:
        return f"`{_dense(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any")
    name = kind if isinstance(kind, str) else " or ".join(kind)
    pattern = schema.get("pattern")
    return f"{name} `{str(pattern).replace('|', '&#124;')}`" if pattern else name


def _dense(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _quote(text: str) -> str:
    return _dense(text)
