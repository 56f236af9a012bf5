"""Single runs of plans, built by the product and landed by somebody else."""

from typing import Any

from stellar_sdk import InvokeHostFunction, scval, xdr

from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.build_run import BuiltRun, RunNotBuilt
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import run_store
from farebox.automation.runs.run import Run
from support.automation_world import AutomationWorld


async def next_run(world: AutomationWorld, plan: StoredPlan) -> Run:
    """The plan's next run that is not made yet."""
    async with world.database.connection() as db:
        runs = await run_store.list_open(db, plan.terms.id)
    return min(runs, key=lambda run: (run.run_index, run.leg_index))


async def try_next(world: AutomationWorld, plan: StoredPlan) -> BuiltRun | RunNotBuilt:
    """Build the plan's next run as of now, and send nothing."""
    builder = world.network().steps.builder
    calls = decode_calls(plan.terms.calls)
    return await builder.build(plan.terms, calls, await next_run(world, plan))


async def build_next(world: AutomationWorld, plan: StoredPlan) -> BuiltRun:
    """Build the plan's next run, which nothing refuses."""
    built = await try_next(world, plan)
    assert isinstance(built, BuiltRun), built
    return built


def operation_of(built: BuiltRun) -> InvokeHostFunction:
    """The operation of a run, as any transaction may carry it."""
    call = built.prepared.call
    function = xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT,
        invoke_contract=xdr.InvokeContractArgs.from_xdr_bytes(call.call),
    )
    entries = [xdr.SorobanAuthorizationEntry.from_xdr_bytes(each.raw) for each in call.entries]
    return InvokeHostFunction(host_function=function, auth=entries)


async def land_as_stranger(world: AutomationWorld, built: BuiltRun) -> None:
    """Land a run in a transaction of another account."""
    stranger = await world.ledger.account()
    await world.ledger.submit(stranger, lambda b: b.append_operation(operation_of(built)))


async def make_due(world: AutomationWorld) -> None:
    """Let every run that waits be tried now."""
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_runs SET due_at = now() WHERE due_at IS NOT NULL")


async def passed_minimums(world: AutomationWorld, plan: StoredPlan) -> list[int]:
    """The minimum that each run of a mandate passed to the router, read from its envelope."""
    async with world.database.connection() as db:
        rows = await db.fetch(
            """
            SELECT a.inner_hash FROM automation_attempts a JOIN automation_runs r ON r.id = a.run_id
            WHERE r.proposal_id = $1 ORDER BY r.run_index
            """,
            plan.terms.id,
        )
    found = []
    for row in rows:
        landed = await world.ledger.found(row["inner_hash"].hex())
        envelope: Any = xdr.TransactionEnvelope.from_xdr(landed["envelopeXdr"])
        inner = envelope.v1 or envelope.fee_bump.tx.inner_tx.v1
        call = inner.tx.operations[0].body.invoke_host_function_op.host_function.invoke_contract
        root = scval.from_struct(scval.from_vec(call.args[2])[0])
        found.append(int(scval.from_int128(scval.from_vec(root["args"])[1])))
    return found
