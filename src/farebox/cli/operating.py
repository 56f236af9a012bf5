"""Commands that send the operator's own transactions, and how they end when one is on its way."""

from collections.abc import Callable, Coroutine
from typing import TypeVar

from farebox.app.settings import NetworkSettings, Settings
from farebox.cli.endings import Ended, MustChange
from farebox.cli.running import run
from farebox.facilitator.channels.operator_ledger import OutcomeUnknown
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.signers import BadSigner

T = TypeVar("T")


class Unknown(Ended):
    """Something was sent and may still take effect."""

    exit_code = 3


class _Refused(Exception):
    """A refusal that the person must change something about: not an outage."""


def configured(settings: Settings, network: Network) -> NetworkSettings:
    """The settings of the network, or the end of the command."""
    own = settings.networks.get(network)
    if own is not None:
        return own
    label = network.label.upper()
    raise MustChange(
        f"{network.label} is not configured: set FAREBOX_RPC_URL_{label} "
        f"and FAREBOX_RELAYER_SECRET_{label}."
    )


def run_sending(
    work: Coroutine[None, None, T],
    on_its_way: Callable[[], str | None],
    *,
    refusals: type[Refusal],
) -> T:
    """The result of `work`; `on_its_way` names a transaction whose fate is not known.

    Raises:
        Unknown: one may still land.
        MustChange: `refusals`, or a key that cannot be used.
        Unavailable: something it needs is away or refuses.
    """
    try:
        return run(_refusals_kept(work, refusals))
    except _Refused as refused:
        raise MustChange(str(refused)) from refused
    except OutcomeUnknown as unknown:
        raise _unknown(unknown.tx_hash) from unknown
    except BadSigner as error:
        raise MustChange(f"The settings cannot be used: {error}.") from error
    except (KeyboardInterrupt, Ended):
        tx_hash = on_its_way()
        if tx_hash is None:
            raise
        raise _unknown(tx_hash) from None


async def _refusals_kept(work: Coroutine[None, None, T], kind: type[Refusal]) -> T:
    try:
        return await work
    except kind as refused:
        raise _Refused(refused.message) from refused


def _unknown(tx_hash: str) -> Unknown:
    return Unknown(
        f"Transaction {tx_hash} may still land: repeat the command, it looks at the ledger first."
    )
