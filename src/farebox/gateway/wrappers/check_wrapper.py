"""The dry run of a wrapper: everything that a paid request needs, and no payment."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from farebox.gateway.offers.offer import GatewayUrl, build_offer
from farebox.gateway.upstream_credentials import UpstreamCredentials
from farebox.gateway.wrapper import PricedCall, Wrapper, WrapperSettings, route_terms
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.kernel.caller import Caller
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.slots import AnyPurpose, NoSlot, Requester, Share, SlotLimits, Slots
from farebox.outbound.client import MAX_CALLS, OutboundClient
from farebox.outbound.faults import CallNotSent, CallOutcomeUnknown, CallRefused, NotSentReason
from farebox.outbound.request import OutboundRequest

_CALL_S: Final = 10.0
_SLOTS: Final = SlotLimits(MAX_CALLS, per_client=MAX_CALLS // 8, wait_s=5.0, next_wait_s=5.0)


class SettingsChecks(Protocol):
    """The checks of settings that need the network, as `NetworkChecks` makes them."""

    async def check(self, settings: WrapperSettings, caller: Caller) -> None:
        """Check upstream and recipients, as part of the caller's share.

        Raises:
            InvalidWrapper: the upstream is not public, or a recipient cannot be paid.
            Outage: it cannot be checked now.
        """
        ...


@dataclass(frozen=True, slots=True)
class CheckedWrapper:
    """The result of a dry run; a problem is None where there is none.

    `offer` is the PaymentRequired object that an unpaid request gets.
    """

    settings_problem: str | None
    credential_problem: str | None
    upstream_problem: str | None
    upstream_status: int | None  # of a HEAD request with the credential
    upstream_ms: int | None
    offer: dict[str, Any]

    @property
    def is_ready(self) -> bool:
        """Whether a paid request would reach the upstream."""
        problems = (self.settings_problem, self.credential_problem, self.upstream_problem)
        return problems == (None, None, None)


class WrapperCheck:
    """Checks the settings, opens the credential, and sends one HEAD request to the upstream."""

    def __init__(
        self,
        client: OutboundClient,
        checks: SettingsChecks,
        credentials: UpstreamCredentials,
        gateway: GatewayUrl,
        clock: Clock,
    ) -> None:
        self._client, self._checks, self._credentials = client, checks, credentials
        self._gateway, self._clock = gateway, clock
        self._slots = Slots.undivided(_SLOTS)

    async def check(self, wrapper: Wrapper, caller: Caller) -> CheckedWrapper:
        """Check the caller's wrapper, enabled or not.

        Raises:
            Outage: the settings cannot be checked now, or too many checks are under way.
        """
        settings_problem = credential_problem = None
        headers: tuple[tuple[str, str], ...] = ()
        try:
            await self._checks.check(wrapper.settings, caller)
        except InvalidWrapper as invalid:
            settings_problem = invalid.message
        try:
            credential = await self._credentials.read(wrapper)
            if credential is not None:
                headers = ((credential.name, credential.value.reveal()),)
        except Outage:
            credential_problem = "The secret cannot be read."
        began = self._clock.monotonic()
        problem, status = await self._call(wrapper, headers, caller.share)
        took_ms = round((self._clock.monotonic() - began) * 1000)
        return CheckedWrapper(
            settings_problem,
            credential_problem,
            problem,
            status,
            took_ms if status is not None else None,
            _offer(wrapper, self._gateway),
        )

    async def _call(
        self, wrapper: Wrapper, headers: tuple[tuple[str, str], ...], share: Share
    ) -> tuple[str | None, int | None]:
        """Send a HEAD request; return the problem and the status.

        Raises:
            CallNotSent: this service had no room for it.
        """
        request = OutboundRequest(
            wrapper.settings.upstream.url,
            method="HEAD",
            headers=headers,
            deadline_s=_CALL_S,
            owner=share,
        )
        try:
            async with (
                self._slots.hold(Requester(AnyPurpose.ANY, share)),
                self._client.call(request) as response,
            ):
                return None, response.status
        except NoSlot:
            raise CallNotSent(NotSentReason.BUSY) from None
        except (CallRefused, CallNotSent, CallOutcomeUnknown) as error:
            if isinstance(error, CallNotSent) and error.is_own_congestion:
                raise
            return f"The upstream cannot be called: {error.reason.value}.", None


def _offer(wrapper: Wrapper, gateway: GatewayUrl) -> dict[str, Any]:
    """Build the offer of the wrapper's URL, or of its first route where that alone is sold."""
    settings = wrapper.settings
    route = settings.routes[0] if settings.routes else None
    terms = settings.terms if route is None else route_terms(settings, route)
    method = settings.method or "GET" if route is None else route.method
    path = "" if route is None else route.template.path
    offer = build_offer(
        wrapper.slug, settings, PricedCall(terms, route), gateway, method=method, path=path
    )
    return offer.to_json("Payment required")
