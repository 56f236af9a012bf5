"""Accounts and other ledger entries are read by their keys."""

import base64

import pytest
from stellar_sdk import Keypair, xdr

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import AccountState, RpcUnavailable
from support.scripted_node import result, scripted_rpc

ACCOUNT = Address(Keypair.random().public_key)


def account_entry(account: str, *, balance: int, sequence: int) -> str:
    entry = xdr.AccountEntry(
        account_id=Keypair.from_public_key(account).xdr_account_id(),
        balance=xdr.Int64(balance),
        seq_num=xdr.SequenceNumber(xdr.Int64(sequence)),
        num_sub_entries=xdr.Uint32(0),
        inflation_dest=None,
        flags=xdr.Uint32(0),
        home_domain=xdr.String32(b""),
        thresholds=xdr.Thresholds(b"\1\0\0\0"),
        signers=[],
        ext=xdr.AccountEntryExt(0),
    )
    data = xdr.LedgerEntryData(xdr.LedgerEntryType.ACCOUNT, account=entry)
    return data.to_xdr()


def account_key_text(account: str) -> str:
    return base64.b64encode(bytes(8) + raw_key(Address(account))).decode()


async def test_account_is_read_by_its_ledger_key() -> None:
    entry = {
        "key": account_key_text(ACCOUNT),
        "xdr": account_entry(ACCOUNT, balance=55, sequence=2**40 + 3),
        "lastModifiedLedgerSeq": 5,
    }
    async with scripted_rpc(result({"entries": [entry], "latestLedger": 90})) as (rpc, node):
        state = await rpc.account(ACCOUNT)
        sequence = await rpc.account_sequence(ACCOUNT)
    assert state == AccountState(2**40 + 3, Stroops(55), 90, Stroops(10_000_000))
    assert sequence == 2**40 + 3
    key = xdr.LedgerKey.from_xdr(node.requests[0].call["params"]["keys"][0])
    assert key.account is not None
    assert key.account.account_id == Keypair.from_public_key(ACCOUNT).xdr_account_id()


@pytest.mark.parametrize("entries", [[], None])
async def test_account_sequence_is_none_for_a_missing_account(entries: object) -> None:
    async with scripted_rpc(result({"entries": entries, "latestLedger": 90})) as (rpc, _):
        assert await rpc.account_sequence(ACCOUNT) is None


@pytest.mark.parametrize(
    ("key_of", "entry_of"), [(ACCOUNT, "other"), ("other", ACCOUNT)], ids=["entry", "key"]
)
async def test_account_raises_on_the_entry_of_another_account(key_of: str, entry_of: str) -> None:
    other = Keypair.random().public_key
    key, entry = (other if name == "other" else name for name in (key_of, entry_of))
    response = {"key": account_key_text(key), "xdr": account_entry(entry, balance=1, sequence=1)}
    async with scripted_rpc(result({"entries": [response], "latestLedger": 90})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.account(ACCOUNT)


@pytest.mark.parametrize("entry", ["!", "AAAA"])
async def test_account_raises_on_an_unreadable_entry(entry: str) -> None:
    response = {"key": account_key_text(ACCOUNT), "xdr": entry}
    async with scripted_rpc(result({"entries": [response], "latestLedger": 90})) as (rpc, _):
        with pytest.raises(RpcUnavailable):
            await rpc.account(ACCOUNT)


async def test_ledger_entries_raises_above_the_nodes_limit_of_keys() -> None:
    async with scripted_rpc(result({})) as (rpc, node):
        with pytest.raises(ValueError, match="more ledger keys"):
            await rpc.ledger_entries([bytes(40)] * 201)
    assert node.requests == []
