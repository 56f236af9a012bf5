"""`farebox settlements`: end a settlement whose outcome no node can prove."""

import re
from typing import Final

import click

from farebox.audit.event import Action
from farebox.cli.database import run_with_database
from farebox.cli.exits import UserActionRequired
from farebox.cli.operator_commands import write_command
from farebox.facilitator.budgets import budget_store
from farebox.facilitator.journal import envelope_store, store
from farebox.facilitator.settlement import FinalStatus, SettlementState
from farebox.kernel.clock import SystemClock
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

ENDED: Final = "ended_by_operator"
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


@click.group("settlements")
def command() -> None:
    """End settlements whose outcome is unproven.

    Configured like serve. Takes effect in every process on the database, without a restart.
    """


@command.command("end")
@click.argument("transaction")
@click.option("--yes", is_flag=True, help="End it: an archive of the ledger does not have it.")
def end(transaction: str, *, yes: bool) -> None:
    """Record that the TRANSACTION of an unproven settlement has not landed.

    Look for it in an archive of the ledger first. Where it has landed, do not end it: let serve use
    a node whose history reaches back so far, and it is proven within an hour.
    """
    line = run_with_database(
        lambda _, database: end_unproven(database, transaction, is_confirmed=yes)
    )
    click.echo(f"{line}\nIt has failed: the payment was not made.")


async def end_unproven(database: Database, transaction: str, *, is_confirmed: bool) -> str:
    """Record an unproven settlement as dead; return the line that shows it.

    Raises:
        UserActionRequired: nothing was changed.
    """
    if not _HASH.match(transaction):
        raise UserActionRequired("Name the transaction by its hash, 64 lower-case hex digits.")
    async with database.transaction() as db:
        row = await store.find_by_hash(db, bytes.fromhex(transaction))
        if row is None or row.sent is None or row.state is not SettlementState.UNPROVEN:
            raise UserActionRequired("Nothing was ended: no unproven settlement has this hash.")
        identity, tx_hash = row.identity, row.sent.tx_hash
        line = (
            f"{identity.network} {identity.payer} {row.amount} {row.asset} {row.pay_to} "
            f"{row.sent.max_time:%Y-%m-%dT%H:%M:%SZ} {' '.join(row.sent.hashes())}"
        )
        if not is_confirmed:
            raise UserActionRequired(
                f"Nothing was ended. Not known: whether one of these transactions landed.\n{line}\n"
                "Say --yes where an archive of the ledger has none of them."
            )
        await budget_store.lock_networks(db, [identity.network])
        dead = FinalStatus(SettlementState.DEAD, Reason.TRANSACTION_FAILED, detail=ENDED)
        if not all(
            await envelope_store.record_final(db, [(tx_hash, dead)], at=SystemClock().now())
        ):
            raise UserActionRequired("Nothing was ended: its outcome was proven just now.")
        await write_command(db, Action.SETTLEMENT_ENDED, tx_hash.hex())
    return line
