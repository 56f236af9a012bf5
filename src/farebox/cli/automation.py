"""`farebox automation`: list, pause, resume and close plans; end the search for an outcome."""

from typing import Final

import click

from farebox.audit.event import Action
from farebox.automation.lifecycle import operator_store
from farebox.automation.lifecycle.operator_plans import close_plans, resume_plans
from farebox.automation.lifecycle.operator_store import OperatorFilter
from farebox.automation.lifecycle.stop_plans import PausedPlans, pause_plans
from farebox.automation.plans.proposal_state import PauseReason, ProposalState
from farebox.automation.runs import unresolved_runs
from farebox.automation.runs.unresolved_runs import NotEnded
from farebox.cli.automation_deploy import deploy
from farebox.cli.database import run_with_database
from farebox.cli.exits import Unavailable, UserActionRequired
from farebox.cli.networks import NetworkName
from farebox.cli.operator_commands import write_command
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database

_SHOWN: Final = 500
_network_option = click.option("--network", type=NetworkName(), help="testnet or pubnet.")
_owner_option = click.option("--owner", help="The owner of the plans, as list prints it.")


@click.group("automation")
def command() -> None:
    """List, pause, resume or close the plans of automation, end searches, deploy contracts.

    Configured like serve. Takes effect in every process on the database, without a restart.
    `farebox sponsor stop --for automation` stops a whole network at once.
    """


command.add_command(deploy)


@command.command("list")
@_network_option
@_owner_option
@click.option(
    "--status",
    type=click.Choice([state.value for state in ProposalState]),
    help="Only plans in this state.",
)
def list_plans(network: Network | None, owner: str | None, status: str | None) -> None:
    """List plans, the newest first: id, network, state and reason, mode, runs, owner.

    Runs are those that were used, of those that are paid. At most 500 plans are listed.
    """
    wanted = OperatorFilter(network, owner, status)

    async def read(database: Database) -> list[str]:
        async with database.connection() as db:
            return [each.line for each in await operator_store.list_plans(db, wanted, _SHOWN)]

    for line in run_with_database(lambda _, database: read(database), is_read_only=True):
        click.echo(line)


@command.command("pause")
@_network_option
@_owner_option
def pause(network: Network | None, owner: str | None) -> None:
    """Pause every active plan of a network or an owner: only resume lets them go on.

    Exit code 1 names the plans that could not be paused.
    """
    target = _target(network, owner)

    async def work(database: Database) -> PausedPlans:
        async with database.transaction() as db:
            await write_command(db, Action.PLAN_PAUSED, target)
        reason = PauseReason.OPERATOR
        return await pause_plans(database, SystemClock(), network, owner=owner, reason=reason)

    paused = run_with_database(lambda _, database: work(database))
    click.echo(f"{paused.count} plans are paused")
    if paused.failed:
        raise Unavailable(f"These plans could not be paused: {', '.join(paused.failed)}.")


@command.command("resume")
@_network_option
@_owner_option
def resume(network: Network | None, owner: str | None) -> None:
    """Leave the plans that the operator has paused to their owners, who resume them."""
    target = _target(network, owner)

    async def work(database: Database) -> int:
        async with database.transaction() as db:
            await write_command(db, Action.PLAN_RESUMED, target)
        return await resume_plans(database, OperatorFilter(network, owner))

    count = run_with_database(lambda _, database: work(database))
    click.echo(f"{count} plans may be resumed by their owners")


@command.command("close")
@_network_option
@_owner_option
@click.option("--yes", is_flag=True, help="Close them: nothing opens them again.")
def close(network: Network | None, owner: str | None, *, yes: bool) -> None:
    """End plans whose delegate keys are compromised, and print whom to notify.

    Every plan of the network or owner that has not ended is paused and its pre-signed entries are
    destroyed; one without a run under way is cancelled, and its unused runs become credit. Sessions
    and mandates are then closed on the ledger by serve, which signs with the delegate. Owners
    remove the rules of a session themselves. Each line is a plan: id, network, owner, account.
    """
    target = _target(network, owner)
    if not yes:
        raise UserActionRequired("Nothing was closed: say --yes, since no plan is opened again.")

    async def work(database: Database) -> list[str]:
        async with database.transaction() as db:
            await write_command(db, Action.PLANS_CLOSED, target)
        closed = await close_plans(database, SystemClock(), OperatorFilter(network, owner))
        return [each.line for each in closed]

    for line in run_with_database(lambda _, database: work(database)):
        click.echo(line)


@command.command("unresolved")
@_network_option
def list_unresolved_runs(network: Network | None) -> None:
    """List runs whose outcome is not known, the oldest first.

    Each line is a run: id, plan, network, state, the time bound of its transaction, the
    transaction, the channel account that it keeps. serve goes on looking for a run that is
    submitted or reconciling. It has given one up that is abandoned: its nodes answer, and no longer
    remember the ledgers in which the transaction may have landed.
    """

    async def read(database: Database) -> list[str]:
        async with database.connection() as db:
            found = await unresolved_runs.list_unresolved(db, network, limit=_SHOWN)
        return [each.line for each in found]

    for line in run_with_database(lambda _, database: read(database), is_read_only=True):
        click.echo(line)


@command.command("end-search")
@click.argument("run_id")
@click.option("--yes", is_flag=True, help="End it: nobody looks for the outcome any more.")
def end_search(run_id: str, *, yes: bool) -> None:
    """Give up the search for the outcome of one run, and free its channel account.

    Whether its transaction landed stays unknown: look for the printed hash in an archive of the
    ledger first. The run becomes abandoned, uses no credit, and is never tried again; its fee
    counts as spent. Its plan is paused, and its owner may resume it.
    """

    async def work(database: Database) -> str:
        async with database.transaction() as db:
            shown = await unresolved_runs.list_unresolved(db, None, run_id=run_id, limit=1)
            if shown and not yes:
                raise UserActionRequired(
                    f"Nothing was ended. Not known: whether this transaction landed.\n"
                    f"{shown[0].line}\nSay --yes to give up the search for it."
                )
            ended = await unresolved_runs.end_search(db, run_id, now=SystemClock().now())
            if isinstance(ended, NotEnded):
                raise UserActionRequired(f"Nothing was ended: {ended}.")
            await write_command(db, Action.RUN_SEARCH_ENDED, run_id)
            return shown[0].line if shown else run_id

    line = run_with_database(lambda _, database: work(database))
    click.echo(f"{line}\nThe search is ended. Whether the transaction landed is not known.")


def _target(network: Network | None, owner: str | None) -> str:
    """The subject of the audit event; a command without any would mean every plan.

    Raises:
        UserActionRequired: neither was given.
    """
    words = [text for text in (network.value if network else None, owner) if text]
    if not words:
        raise UserActionRequired("Say which plans: --network, --owner or both.")
    return " ".join(words)
