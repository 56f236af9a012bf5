"""The composition root of what a wallet needs to sign payments."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.facilitator.verification.verify import VerificationNetwork, Verifier
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.signing.complete import Completion
from farebox.signing.http import signing_endpoints
from farebox.signing.prepare import Preparation, SigningNetwork
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class SigningServices:
    """The constructed routes; nothing runs."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop] = ()
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_signing(networks: Mapping[Network, VerificationNetwork], clock: Clock) -> SigningServices:
    """Build the routes that prepare and complete payments."""
    judge = Verifier(networks, clock)
    signing = {name: SigningNetwork(each.rules, each.ledgers) for name, each in networks.items()}
    return SigningServices(
        signing_endpoints(Preparation(judge, signing), Completion(judge, signing))
    )
