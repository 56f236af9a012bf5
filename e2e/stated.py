"""What a schema states of its values, and the requests that hold a service to its API schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from e2e.wire import JSON_TYPE, WireCase, answers_of, faults_in

Json = dict[str, Any]

# lists with the filter that they need for a key
_FILTERED: Final = {
    "/discovery/resources": "",
    "/discovery/search": "",
    "/v1/payments": "role=settled",
}
_LONGEST: Final = 4_000  # of a value in a URL, which has 8 KB at most
_ASKS: Final = "/v1/discovery/validate"  # its example is a URL, which is the upstream's in a run
_CUT: Final = "…"  # of an example's text that is made for each request: an envelope, a signature
_PARAMETER: Final = "{"  # of a path
_UPSTREAM: Final = "upstreamUrl"  # of an example, which names a host that is not there


def stated(schema: Mapping[str, Any]) -> list[object]:
    """Return the values that a schema names; the resource takes no POST."""
    bounds = [schema[each] for each in ("minimum", "maximum", "default") if each in schema]
    listed = (*schema.get("enum", ()), *schema.get("examples", ()))
    return bounds + [each for each in listed if each != "POST"]


def beyond(schema: Mapping[str, Any]) -> list[object]:
    """Return values beyond the bounds of a schema."""
    found: list[object] = []
    if "minimum" in schema:
        found += [schema["minimum"] - 1, schema["minimum"] + 0.5]
    if "maximum" in schema:
        found.append(schema["maximum"] + 1)
    if "maxLength" in schema:
        found.append("x" * (schema["maxLength"] + 1))
    if "enum" in schema:
        found.append("none of them")
    return found


async def stated_faults(url: str, key: str) -> tuple[int, list[str]]:
    """Hold a service to its API schema by both clients; return how many were sent, the faults.

    What is beyond the bound of a filter is refused, and every example of a body is taken.
    """
    async with (
        aiohttp.ClientSession(url) as session,
        session.get("/v1/openapi.json") as response,
    ):
        paths: Json = (await response.json())["paths"]
    own = ("authorization", f"Bearer {key}")
    bounds = [*_bounds(paths, own)]
    examples = [*_examples(paths, own)]
    faults = faults_in(await answers_of(url, bounds))
    for each in await answers_of(url, examples):
        if each.answer.status == 400 and _UPSTREAM not in each.answer.body:
            faults.append(f"{each.client} the example of {each.case.target}: {each.answer.body}")
    return 2 * (len(bounds) + len(examples)), faults


def _bounds(paths: Json, own: tuple[str, str]) -> Iterator[WireCase]:
    for path, fixed in _FILTERED.items():
        declared = [each for each in paths[path]["get"]["parameters"] if each["in"] == "query"]
        for one in declared:
            name = one["name"]
            needed = [f"{each['name']}=x" for each in declared if each["required"] and each != one]
            if fixed and not fixed.startswith(name):
                needed.append(fixed)
            for value in beyond(one["schema"]):
                text = quote(str(value))
                if len(text) <= _LONGEST:
                    query = "&".join([*needed, f"{name}={text}"])
                    yield WireCase(f"{path}?{query}", 400, headers=(own,))


def _examples(paths: Json, own: tuple[str, str]) -> Iterator[WireCase]:
    for path, operations in paths.items():
        body = operations.get("post", {}).get("requestBody", {}).get("content", {})
        example = body.get("application/json", {}).get("example")
        text = json.dumps(example, ensure_ascii=False)
        is_whole = example is not None and _CUT not in text
        if is_whole and _PARAMETER not in path and path != _ASKS:
            yield WireCase(path, 200, "POST", (JSON_TYPE, own), text)
