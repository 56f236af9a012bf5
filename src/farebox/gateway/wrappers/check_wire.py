"""The JSON of a wrapper's dry run."""

from typing import Any

import msgspec

from farebox.gateway.wrappers.check_wrapper import CheckedWrapper


class CheckedUpstreamBody(msgspec.Struct, rename="camel"):
    """The response of the upstream to a HEAD request with the credential; null without one."""

    status: int | None
    latency_ms: int | None
    problem: str | None


class CheckBody(msgspec.Struct, rename="camel"):
    """The result of a dry run; `offer` is what an unpaid request gets."""

    ready: bool
    settings_problem: str | None
    credential_problem: str | None
    upstream: CheckedUpstreamBody
    offer: dict[str, Any]


def check_body(checked: CheckedWrapper) -> CheckBody:
    """Render the result of a dry run."""
    return CheckBody(
        ready=checked.is_ready,
        settings_problem=checked.settings_problem,
        credential_problem=checked.credential_problem,
        upstream=CheckedUpstreamBody(
            checked.upstream_status, checked.upstream_ms, checked.upstream_problem
        ),
        offer=checked.offer,
    )
