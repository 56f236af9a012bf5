"""What a route of plans simulates before anything is paid: in the caller's share of previews."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final

import msgspec
import pytest
from starlette.types import Message

from farebox.automation.credits.payments_http import PayForRuns
from farebox.automation.proposing import examples, proposals_http
from farebox.automation.proposing.proposals_http import (
    CreateProposal,
    JudgeProposal,
    PreviewProposal,
    ShowProposal,
    ShowSession,
)
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.slots import Requester, Share
from farebox.stellar.simulation_slots import SimulationPurpose, current_requester
from farebox.web.guard import KEY as CALLER
from farebox.web.request_context import KEY as CONTEXT
from farebox.web.request_context import RequestContext

SITE: Final = "2001:db8:66::/48"
OWNER: Final = OwnerId("user_1")
ROUTES: Final[dict[str, Callable[[Any], Any]]] = {
    "create": lambda parts: CreateProposal(parts, parts),
    "preview": PreviewProposal,
    "show": ShowProposal,
    "session": ShowSession,
    "preflight": JudgeProposal,
    "payment": lambda parts: PayForRuns(parts, parts, parts, "https://x", is_top_up=False),
}


class Asked(Exception):
    """A part was asked, which would simulate now."""


class Parts:
    """Every part that a route may ask; notes for whom it would simulate."""

    requester: Requester | None = None

    async def _ask(self, *_: object, **__: object) -> None:
        self.requester = current_requester()
        raise Asked

    create = preview = find = session = preflight = offer = _ask


async def _requester_of(route: str, *, is_established: bool) -> Requester | None:
    caller = Caller(OWNER, CallerKind.SESSION, is_established=is_established)
    scope = {
        CALLER: caller,
        CONTEXT: RequestContext(),
        "farebox.client": "2001:db8:66:7::1",
        "path": "/",
        "path_params": {"id": "auto_" + "a" * 22},
        "headers": [],
    }

    async def receive() -> Message:
        body = b"" if route == "payment" else msgspec.json.encode(examples.REQUEST)
        return {"type": "http.request", "body": body}

    parts, unused = Parts(), None
    with pytest.raises(Asked):
        await ROUTES[route](parts)(scope, receive, unused)
    return parts.requester


@pytest.mark.parametrize("route", ROUTES)
async def test_route_of_plans_simulates_in_the_callers_share_of_previews(route: str) -> None:
    known = Requester(SimulationPurpose.PREVIEW, Share(OWNER))
    assert await _requester_of(route, is_established=True) == known
    free = Requester(SimulationPurpose.PREVIEW, Share(SITE))
    assert await _requester_of(route, is_established=False) == free


async def test_control_preview_without_a_purpose_takes_the_slots_of_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals_http, "_previewing", lambda _: nullcontext())
    assert await _requester_of("preview", is_established=False) is None  # which means a run's
