"""Stock clients of the bazaar: npm @x402/extensions 2.27 and PyPI x402."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from x402.extensions.bazaar import (
    ListDiscoveryResourcesParams,
    SearchDiscoveryResourcesParams,
    with_bazaar,
)
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync

from e2e.machine import ROOT, RunFailed, environment, node_command

Answers = list[dict[str, Any]]  # each `{"answer": …}` or `{"error": …}`
Question = Mapping[str, Any]  # parameters by their name on the wire, and `walk`
_MAX_PAGES: Final = 100
_PYTHON_NAMES: Final = {"payTo": "pay_to"}


def npm_answers(facilitator: str, asked: Mapping[str, object]) -> dict[str, Answers]:
    """Every answer to `settle`, `list` and `search` as the npm client returned it."""
    given = {"facilitator": facilitator, "settle": [], "list": [], "search": []} | dict(asked)
    done = subprocess.run(
        node_command(ROOT / "e2e" / "catalog.mjs"),
        env=environment({"CATALOG": json.dumps(given)}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunFailed(f"catalog.mjs failed:\n{done.stderr.strip()[-800:]}")
    answers: dict[str, Answers] = json.loads(done.stdout.splitlines()[-1])
    return answers


def pypi_answers(
    facilitator: str, *, lists: Sequence[Question], searches: Sequence[Question]
) -> dict[str, Answers]:
    """Every answer to `list` and `search` as the PyPI client returned it, in wire spelling."""
    with HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator)) as plain:
        bazaar = with_bazaar(plain).extensions.bazaar  # type: ignore[arg-type] # it works with this one alone

        def listed(asked: Question) -> dict[str, Any]:
            found = bazaar.list_resources(ListDiscoveryResourcesParams(**_python(asked)))
            return {
                "x402Version": found.x402_version,
                "items": [item.to_dict() for item in found.items],
                "pagination": asdict(found.pagination),
            }

        def searched(asked: Question) -> dict[str, Any]:
            found = bazaar.search(SearchDiscoveryResourcesParams(**_python(asked)))
            resources = [item.to_dict() for item in found.resources]
            body = {
                "x402Version": found.x402_version,
                "resources": resources,
                "partialResults": found.partial_results,
                "pagination": asdict(found.pagination) if found.pagination else None,
            }
            for _ in range(_MAX_PAGES):
                if not asked.get("walk") or found.pagination is None:
                    break
                if found.pagination.cursor is None:
                    break
                following = _python(asked) | {"cursor": found.pagination.cursor}
                found = bazaar.search(SearchDiscoveryResourcesParams(**following))
                resources += [item.to_dict() for item in found.resources]
            return body

        return {"list": _each(lists, listed), "search": _each(searches, searched)}


def _python(asked: Question) -> dict[str, Any]:
    return {_PYTHON_NAMES.get(k, k): value for k, value in asked.items() if k != "walk"}


def _each(asked: Sequence[Question], call: Callable[[Question], dict[str, Any]]) -> Answers:
    answers: Answers = []
    for question in asked:
        try:
            answers.append({"answer": call(question)})
        except Exception as error:  # noqa: BLE001 - whatever a foreign client raises is the finding
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers
