"""A caller that knows a service by the specs of its skills alone: paths, schemas and errors."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import jsonschema_rs
import msgspec

from support.asgi import Answer, AsgiClient

Json = dict[str, Any]
Key = tuple[str, str]  # slug and action
ErrorKey = tuple[str, str, str]  # and the code
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_PASSING: Final = frozenset({"network_unavailable", "service_unavailable"})
_PLACES: Final = ("error.code", "errorReason", "invalidReason")  # of x402 too, with status 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """The response to an action: `output` where it succeeded, the whole body in any case."""

    status: int
    body: Any
    output: Any


@dataclass(slots=True)
class SkillCaller:
    """Calls actions as their specs say, and keeps which calls had the outcome they promise."""

    client: AsgiClient
    specs: Mapping[str, Json]
    performed: set[Key] = field(default_factory=set)
    failed: set[ErrorKey] = field(default_factory=set)

    async def perform(
        self, slug: str, name: str, value: Json, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Perform an action; the input and the output must fit its schemas. Returns the output."""
        action, endpoint = self._find(slug, name)
        assert list(misfits(action["input"], value)) == []
        outcome = await self._repeat(slug, name, value, headers)
        assert outcome.status == endpoint["success"], outcome.body
        assert list(misfits(action["output"], outcome.output)) == [], outcome.output
        self.performed.add((slug, name))
        return outcome.output

    async def fail(
        self,
        slug: str,
        name: str,
        code: str,
        value: Json | bytes,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Have an action fail with a code, at the place and with the status of its spec."""
        action, _ = self._find(slug, name)
        (error,) = [each for each in action["errors"] if each["code"] == code]
        send = self.call if code in _PASSING else self._repeat
        outcome = await send(slug, name, value, headers)
        found = list(codes_at(outcome.body, error["at"]))
        assert code in found, (code, outcome.body)
        assert outcome.status == error["http"], outcome.body
        self.failed.add((slug, name, code))
        return outcome.body

    async def _repeat(
        self, slug: str, name: str, value: Json | bytes, headers: Mapping[str, str] | None
    ) -> Outcome:
        """Send a request again while the network is away, as its spec says.

        On a busy machine a connection to the node takes longer than the service waits for it, and a
        ledger that one look has named far ahead waits for the next look.
        """
        for _ in range(50):
            outcome = await self.call(slug, name, value, headers)
            codes = {code for place in _PLACES for code in codes_at(outcome.body, place)}
            if not _PASSING & codes:
                return outcome
            await asyncio.sleep(0.2)
        return await self.call(slug, name, value, headers)

    async def call(
        self, slug: str, name: str, value: Json | bytes, headers: Mapping[str, str] | None = None
    ) -> Outcome:
        """Send the request of an action; bytes are its body as it stands."""
        _, endpoint = self._find(slug, name)
        sent = dict(headers or {})
        if isinstance(value, bytes):
            return _outcome(await self.client.post(endpoint["path"], value, sent))
        if "tool" in endpoint:
            return await self._call_tool(endpoint, value, sent)
        rest = dict(value)
        for member, header in endpoint.get("headers", {}).items():
            if member in rest:
                sent[header] = str(rest.pop(member))
        path = _PARAMETER.sub(
            lambda found: quote(str(rest.pop(found[1])), safe=":"), endpoint["path"]
        )
        return _outcome(await self._send(endpoint["method"], path, rest, sent))

    async def _send(self, method: str, path: str, rest: Json, headers: dict[str, str]) -> Answer:
        if method in ("GET", "DELETE"):
            path += f"?{urlencode(rest, doseq=True)}" if rest else ""
            return await self.client.request(method, path, headers=headers)
        body = msgspec.json.encode(rest) if rest else b""
        sent = {"content-type": "application/json"} | headers if body else headers
        return await self.client.request(method, path, body=body, headers=sent)

    async def _call_tool(self, endpoint: Json, value: Json, headers: dict[str, str]) -> Outcome:
        params = {"name": endpoint["tool"], "arguments": value}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.client.post(endpoint["path"], message, headers)
        body = answer.json()
        return Outcome(answer.status, body, body.get("result", {}).get("structuredContent"))

    def _find(self, slug: str, name: str) -> tuple[Json, Json]:
        spec = self.specs[slug]
        (action,) = [each for each in spec["actions"] if each["name"] == name]
        (endpoint,) = [each for each in spec["endpoints"] if each["ref"] == action["endpoint"]]
        return action, endpoint


def _outcome(answer: Answer) -> Outcome:
    body = msgspec.json.decode(answer.body) if answer.body else None
    return Outcome(answer.status, body, body)


async def read_specs(client: AsgiClient) -> dict[str, Json]:
    """Read the specs of all skills from the service, as an agent would."""
    items = (await client.get("/v1/skills")).json()["items"]
    return {
        each["slug"]: (await client.get(f"/v1/skills/{each['slug']}/spec")).json() for each in items
    }


def actions_of(specs: Mapping[str, Json]) -> set[Key]:
    """Every action of every skill."""
    return {(slug, each["name"]) for slug, spec in specs.items() for each in spec["actions"]}


def errors_of(specs: Mapping[str, Json]) -> set[ErrorKey]:
    """Every error of every action."""
    return {
        (slug, action["name"], error["code"])
        for slug, spec in specs.items()
        for action in spec["actions"]
        for error in action["errors"]
    }


def misfits(schema: Json, value: object) -> Iterator[str]:
    """Why a value does not fit a schema."""
    for error in jsonschema_rs.Draft202012Validator(schema, offline=True).iter_errors(value):
        yield f"{'/'.join(map(str, error.instance_path))}: {error.message}"


def codes_at(body: Any, place: str) -> Iterator[str]:
    """The codes at a place of a response, as in `error.code` or `reasons[].code`."""
    values = [body]
    for step in place.replace("[]", ".[]").split("."):
        if step == "[]":
            values = [one for each in values for one in (each if isinstance(each, list) else [])]
        else:
            values = [each[step] for each in values if isinstance(each, dict) and step in each]
    yield from values
