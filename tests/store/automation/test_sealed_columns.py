"""Secrets of automation under the master keys: rekeyed, and checked at the start."""

import secrets
from datetime import timedelta

import pytest

from farebox.automation.authority import presigned_store
from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import attempt_store
from farebox.automation.runs.run import Attempt
from farebox.automation.sealed_columns import (
    DELEGATES,
    ENTRIES,
    ENTRY_PURPOSE,
    ENVELOPE_PURPOSE,
    ENVELOPES,
    SEALED_DOMAINS,
)
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault.master_key_check import (
    MasterKeyCheck,
    MasterKeyMissing,
    MasterKeyWrong,
)
from farebox.vault.rekey import Rekeying
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import SealBroken, Sealer
from support.automation import activate, read_plan, read_runs, sealer
from support.claims import signed_envelope
from support.manual_clock import START, ManualClock
from support.planted_secrets import plant_secret
from support.vault import NEW, OLD, another_key, keys


def new_sealer(domain: str) -> ByteSealer:
    return ByteSealer(Sealer(keys(NEW), domain=domain))


async def put_secrets(database: Database) -> tuple[StoredPlan, bytes, str]:
    """A plan with a delegate key, a pre-signed entry and an envelope; the value of the last two."""
    plan = await activate(database)
    value = plant_secret(secrets.token_hex(32)).encode()
    record = entry_record(plan.terms.id, 0, 0)
    entry = sealer(ENTRIES).seal(
        Secret(value), owner=plan.terms.owner, purpose=ENTRY_PURPOSE, record=record
    )
    run_id = (await read_runs(database, plan))[0]["id"]
    envelope = sealer(ENVELOPES).seal(
        Secret(value), owner=plan.terms.owner, purpose=ENVELOPE_PURPOSE, record=f"{run_id} 1"
    )
    attempt = Attempt(run_id, 1, signed_envelope(inner_hash=bytes(32)), None, 1, START.date())
    async with database.connection() as db:
        await presigned_store.add_entries(
            db, plan.terms.id, [PresignedEntry(0, 0, 1, 1_000, Secret(entry))]
        )
        assert await attempt_store.add_attempt(
            db, attempt, network=plan.terms.network, owner=plan.terms.owner, sealed=envelope
        )
    return plan, value, run_id


async def test_rekey_seals_every_secret_of_automation_with_the_first_key(
    database: Database,
) -> None:
    plan, value, run_id = await put_secrets(database)
    with pytest.raises(SealBroken):
        DelegateKeys(new_sealer(DELEGATES)).sign(plan, bytes(32))
    for each in SEALED_DOMAINS:
        reseal = Sealer(keys(NEW, OLD), domain=each.domain)
        rekeying = Rekeying(database, reseal, lambda _: None, rows=each.rows)
        done = await rekeying.run()
        assert (done.resealed, done.left, done.unreadable) == (1, 0, ())
    async with database.connection() as db:
        stored = await presigned_store.find_entry(db, plan.terms.id, run_index=0, leg_index=0)
        found = await attempt_store.find_open(db, run_id)
    assert stored is not None
    assert found is not None
    owner, record = plan.terms.owner, entry_record(plan.terms.id, 0, 0)
    entry = new_sealer(ENTRIES).open(
        stored.sealed.reveal(), owner=owner, purpose=ENTRY_PURPOSE, record=record
    )
    envelope = new_sealer(ENVELOPES).open(
        found[1], owner=owner, purpose=ENVELOPE_PURPOSE, record=f"{run_id} 1"
    )
    assert entry.reveal() == envelope.reveal() == value
    plan = await read_plan(database, plan)
    old = DelegateKeys(sealer(DELEGATES))
    assert DelegateKeys(new_sealer(DELEGATES)).sign(plan, bytes(32)) is not None
    with pytest.raises(SealBroken):
        old.sign(plan, bytes(32))


@pytest.mark.parametrize("domain", SEALED_DOMAINS, ids=lambda each: each.domain)
async def test_start_is_refused_without_the_key_of_a_domain(
    database: Database, clock: ManualClock, domain: object
) -> None:
    await put_secrets(database)
    only = tuple(each for each in SEALED_DOMAINS if each is domain)
    with pytest.raises(MasterKeyMissing, match="version 1,"):
        await MasterKeyCheck(database, keys(NEW), clock, only).check()
    with pytest.raises(MasterKeyWrong, match="version 1 "):
        await MasterKeyCheck(database, keys(another_key(1)), clock, only).check()
    await MasterKeyCheck(database, keys(NEW, OLD), clock, only).check()


async def test_secret_of_one_record_does_not_open_in_another(database: Database) -> None:
    plan, _, _ = await put_secrets(database)
    other = await activate(database)
    moved = StoredPlan(
        terms=other.terms,
        state=other.state,
        counters=other.counters,
        delegate_key=plan.delegate_key,
    )
    with pytest.raises(SealBroken):
        DelegateKeys(sealer(DELEGATES)).sign(moved, bytes(32))
    assert plan.terms.window.not_after - START > timedelta(days=1)
