"""Trees of authorized calls: written as the public SDK does, read within bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import xdr

from farebox.stellar.auth_entries import read_entry
from farebox.stellar.contract_operations import HostCall, invoke_contract
from farebox.stellar.entry_writer import unsigned_entry
from farebox.stellar.invocations import Invocation, flatten, read_invocation, write_invocation
from farebox.stellar.xdr_reader import Malformed
from support.damaged_bytes import COPIES, damaged_copies
from support.examples import examples
from support.plans import OWNER, TARGET, USDC, contract, values

trees = st.recursive(
    st.builds(
        Invocation,
        st.integers(1, 9).map(contract),
        st.text("abcxyz_", min_size=1, max_size=32),
        st.lists(values, max_size=3).map(tuple),
    ),
    lambda below: st.builds(
        lambda root, nested: Invocation(root.contract, root.function, root.arguments, nested),
        below,
        st.lists(below, max_size=3).map(tuple),
    ),
    max_leaves=5,
)


@given(trees)
def test_written_tree_and_its_call_are_those_of_the_sdk_and_the_tree_is_read_back(
    tree: Invocation,
) -> None:
    raw = write_invocation(tree)
    assert xdr.SorobanAuthorizedInvocation.from_xdr_bytes(raw).to_xdr_bytes() == raw
    assert read_invocation(raw) == tree
    assert len(flatten(tree)) == _count(tree)
    _source_authorizes(invoke_contract(tree))


def _source_authorizes(call: HostCall) -> None:
    function = xdr.HostFunction.from_xdr_bytes(call.function)
    assert function.to_xdr_bytes() == call.function
    count, entry = call.authorized[:4], call.authorized[4:]
    assert count == (1).to_bytes(4, "big")
    read = xdr.SorobanAuthorizationEntry.from_xdr_bytes(entry)
    assert read.to_xdr_bytes() == entry
    source = xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
    assert read.credentials.type == source
    assert read.root_invocation.function.contract_fn == function.invoke_contract


def _count(tree: Invocation) -> int:
    return 1 + sum(_count(each) for each in tree.nested)


@settings(max_examples=examples(240 // COPIES))
@given(damaged_copies(trees.map(write_invocation)))
def test_damaged_tree_is_refused_or_read_with_the_same_bytes(copies: list[bytes]) -> None:
    for raw in copies:
        try:
            tree = read_invocation(raw)
        except Malformed:
            continue
        assert write_invocation(tree) == raw


def test_calls_are_listed_each_before_those_below_it() -> None:
    leaf, other = Invocation(USDC, "transfer", ()), Invocation(USDC, "approve", ())
    middle = Invocation(TARGET, "inner", (), (leaf,))
    root = Invocation(TARGET, "outer", (), (middle, other))
    assert flatten(root) == (root, middle, leaf, other)


def test_root_of_a_tree_is_the_call_of_an_entry() -> None:
    tree = Invocation(USDC, "transfer", ())
    entry = read_entry(unsigned_entry(OWNER, nonce=1, expires_at_ledger=2, call=tree.call))
    assert entry.root_call == tree.call
    assert entry.invocation == write_invocation(tree)


@pytest.mark.parametrize("depth", [8, 9])
def test_tree_is_eight_calls_deep_at_most(depth: int) -> None:
    tree = Invocation(USDC, "transfer", ())
    for _ in range(depth - 1):
        tree = Invocation(TARGET, "outer", (), (tree,))
    if depth <= 8:
        assert read_invocation(write_invocation(tree)) == tree
    else:
        with pytest.raises(Malformed):
            read_invocation(write_invocation(tree))
