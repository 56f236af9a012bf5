"""Commands by which the operator changes something: their network, audit events and endings."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final, TypeVar

from farebox.app.settings import NetworkSettings, Settings
from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.buyer.wallet import open_wallet
from farebox.cli.exits import CommandFailed, UserActionRequired, run
from farebox.facilitator.channels.operator_ledger import OutcomeUnknown
from farebox.kernel.caller import COMMANDS, Caller, CallerKind
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.signers import BadSigner, SigningAccount, read_signers
from farebox.storage.pool import Connection

T = TypeVar("T")
_REQUEST_ID: Final = "command"
_OPERATOR: Final = Caller(COMMANDS, CallerKind.OPERATOR)


class TransactionPending(CommandFailed):
    """A transaction was sent and may still take effect."""

    exit_code = 3


def read_payer(own: NetworkSettings, source: Path | None) -> SigningAccount:
    """The account that pays: that of a wallet file, or the network's relayer.

    Raises:
        UserActionRequired: the wallet file cannot be opened.
    """
    if source is None:
        return read_signers(own.relayer_secret, own.paymaster_secret).relayer
    return read_signers(open_wallet(source).seed, None).relayer


def configured_network(settings: Settings, network: Network) -> NetworkSettings:
    """Return the settings of the network.

    Raises:
        UserActionRequired: the network is not configured.
    """
    own = settings.networks.get(network)
    if own is not None:
        return own
    label = network.label.upper()
    raise UserActionRequired(
        f"{network.label} is not configured: set FAREBOX_RPC_URL_{label} "
        f"and FAREBOX_RELAYER_SECRET_{label}."
    )


async def write_command(db: Connection, action: Action, subject: str) -> None:
    """Write an audit event of a command that was run on `subject`.

    A command that is not one transaction writes it before it starts.
    """
    await insert_event(db, AuditEvent(_OPERATOR, action, subject, _REQUEST_ID))


def run_sending(
    work: Coroutine[None, None, T],
    unresolved: Callable[[], str | None],
    *,
    user_faults: type[Refusal],
) -> T:
    """Return the result of `work`, which may send transactions.

    `unresolved` returns the hash of a transaction whose fate is not known.

    Raises:
        TransactionPending: a transaction may still take effect.
        UserActionRequired: a refusal of type `user_faults`, or a key that cannot be used.
        Unavailable: another refusal, or an outage.
    """
    try:
        return run(work, user_faults=(user_faults,))
    except UserActionRequired:
        raise
    except OutcomeUnknown as unknown:
        raise _pending(unknown.tx_hash) from unknown
    except BadSigner as error:
        raise UserActionRequired(f"The settings cannot be used: {error}.") from error
    except (KeyboardInterrupt, CommandFailed):
        tx_hash = unresolved()
        if tx_hash is None:
            raise
        raise _pending(tx_hash) from None


def _pending(tx_hash: str) -> TransactionPending:
    return TransactionPending(
        f"Transaction {tx_hash} may still take effect: repeat the command, "
        "which checks the ledger first."
    )
