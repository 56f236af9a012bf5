"""Stock clients of the bazaar: npm @x402/extensions 2.27 and PyPI x402."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from x402.extensions.bazaar import (
    ListDiscoveryResourcesParams,
    SearchDiscoveryResourcesParams,
    with_bazaar,
)
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync

from testing.commands import node_lines

Answers = list[dict[str, Any]]  # each `{"answer": …}` or `{"error": …}`
Parameters = Mapping[str, Any]  # of a request by their name on the wire, and `walk`
_MAX_PAGES: Final = 100
_NODE_S: Final = 300.0
_PYTHON_NAMES: Final = {"payTo": "pay_to"}


def npm_answers(facilitator: str, requests: Mapping[str, object]) -> dict[str, Answers]:
    """Every answer to `settle`, `list` and `search` as the npm client returned it."""
    options = {"facilitator": facilitator, "settle": [], "list": [], "search": []} | dict(requests)
    lines = node_lines("catalog.mjs", within_s=_NODE_S, env={"CATALOG": json.dumps(options)})
    answers: dict[str, Answers] = json.loads(lines[-1])
    return answers


def pypi_answers(
    facilitator: str, *, lists: Sequence[Parameters], searches: Sequence[Parameters]
) -> dict[str, Answers]:
    """Every answer to `list` and `search` as the PyPI client returned it, in wire spelling."""
    with HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator)) as plain:
        bazaar = with_bazaar(plain).extensions.bazaar  # type: ignore[arg-type] # the type is too narrow upstream

        def list_resources(parameters: Parameters) -> dict[str, Any]:
            page = bazaar.list_resources(ListDiscoveryResourcesParams(**_python(parameters)))
            return {
                "x402Version": page.x402_version,
                "items": [item.to_dict() for item in page.items],
                "pagination": asdict(page.pagination),
            }

        def search(parameters: Parameters) -> dict[str, Any]:
            page = bazaar.search(SearchDiscoveryResourcesParams(**_python(parameters)))
            resources = [item.to_dict() for item in page.resources]
            body = {
                "x402Version": page.x402_version,
                "resources": resources,
                "partialResults": page.partial_results,
                "pagination": asdict(page.pagination) if page.pagination else None,
            }
            for _ in range(_MAX_PAGES):
                if not parameters.get("walk") or page.pagination is None:
                    break
                if page.pagination.cursor is None:
                    break
                following = _python(parameters) | {"cursor": page.pagination.cursor}
                page = bazaar.search(SearchDiscoveryResourcesParams(**following))
                resources += [item.to_dict() for item in page.resources]
            return body

        return {"list": _each(lists, list_resources), "search": _each(searches, search)}


def _python(parameters: Parameters) -> dict[str, Any]:
    return {_PYTHON_NAMES.get(k, k): value for k, value in parameters.items() if k != "walk"}


def _each(requests: Sequence[Parameters], call: Callable[[Parameters], dict[str, Any]]) -> Answers:
    answers: Answers = []
    for parameters in requests:
        try:
            answers.append({"answer": call(parameters)})
        except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers
