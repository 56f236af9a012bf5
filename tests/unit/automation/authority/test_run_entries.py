"""Entries and digests of runs, as the public SDK and the vectors have them."""

from typing import Final

import pytest
from nacl.signing import SigningKey
from stellar_sdk import xdr
from stellar_sdk.auth import authorization_payload_hash, build_authorization_preimage

from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.planned_calls import RunContext, resolve
from farebox.automation.authority.run_entries import (
    PresignedSlot,
    mandate_calls,
    mandate_run,
    presigned_runs,
    unsigned_run,
)
from farebox.automation.authority.spec_check import AllowedRun
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import CredentialKind, Unsigned, read_entry
from farebox.stellar.invocations import Invocation, read_invocation
from farebox.stellar.scval_writer import address_of, write_value
from support.plans import DISBURSEMENT, MANDATE, OWNER, PAYEES, TARGET, USDC, WALLET, plan_of

LEAF: Final = Invocation(USDC, "transfer", (address_of(WALLET),))
TREE: Final = Invocation(TARGET, "feed", (address_of(WALLET),), (LEAF,))


@pytest.mark.parametrize("network", Network)
@pytest.mark.parametrize("kind", [CredentialKind.ADDRESS, CredentialKind.ADDRESS_V2])
def test_entry_and_payload_of_a_run_are_those_of_the_sdk(
    kind: CredentialKind, network: Network
) -> None:
    run = unsigned_run(network, WALLET, TREE, nonce=-5, expires_at_ledger=124, kind=kind)
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(run.entry)
    assert entry.to_xdr_bytes() == run.entry
    preimage = build_authorization_preimage(entry, 124, network.passphrase)
    assert run.preimage == preimage.to_xdr_bytes()
    assert run.payload == authorization_payload_hash(preimage)
    read = read_entry(run.entry)
    assert (read.kind, read.address, read.nonce) == (kind, WALLET, -5)
    assert (read.expires_at_ledger, read.signature) == (124, Unsigned())
    assert read_invocation(read.invocation) == TREE


def test_entry_and_preimage_are_not_printed() -> None:
    run = unsigned_run(Network.TESTNET, WALLET, TREE, nonce=1, expires_at_ledger=2)
    assert run.entry.hex() not in repr(run)
    assert "entry" not in repr(run)


def test_entries_that_are_signed_ahead_pay_one_leg_each() -> None:
    planned = plan_calls(
        plan_of("disbursement", DISBURSEMENT, OWNER), ResolvedPlan(), AuthorityMode.PRESIGNED
    )
    slots = [PresignedSlot(2, leg, nonce=10 + leg, expires_at_ledger=500) for leg in range(3)]
    runs = presigned_runs(Network.TESTNET, OWNER, planned, slots)
    assert [run.nonce for run in runs] == [10, 11, 12]
    for run, payee in zip(runs, PAYEES, strict=True):
        tree = read_invocation(read_entry(run.entry).invocation)
        assert (tree.contract, tree.function, tree.nested) == (USDC, "transfer", ())
        assert tree.arguments[:2] == (address_of(OWNER), address_of(payee))


def test_calls_of_a_mandate_are_numbered_as_in_its_spec() -> None:
    calls = mandate_calls(TREE, AllowedRun((2, 3), None))
    assert [each.call for each in calls] == [2, 3]
    assert [each.arguments for each in calls] == [TREE.arguments, LEAF.arguments]


def test_call_of_a_mandate_has_its_run_and_the_signature() -> None:
    planned = plan_calls(
        plan_of("disbursement", DISBURSEMENT, OWNER), ResolvedPlan(), AuthorityMode.MANDATE
    )
    run = resolve(planned, RunContext(MANDATE, 7, 0, row=1))
    calls = mandate_calls(run, AllowedRun((0,), 1))
    signature = Secret(SigningKey(bytes(32)).sign(b"x").signature)
    call = mandate_run(MANDATE, calls, run_index=7, valid_until=99, signature=signature)
    assert (call.contract, call.function, call.nested) == (MANDATE, "run", ())
    assert [write_value(each)[-4:] for each in call.arguments[:2]] == [
        (7).to_bytes(4, "big"),
        (99).to_bytes(4, "big"),
    ]
    assert write_value(call.arguments[3])[8:] == signature.reveal()
