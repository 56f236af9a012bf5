"""Accounts as the ledger has them."""

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import Address
from farebox.stellar.account_entry import account_key, read_account
from farebox.stellar.rpc import AccountState

ACCOUNT = Address(Keypair.random().public_key)
MOST = 2**63 - 1


def entry(balance: int, sequence: int) -> bytes:
    return account_key(ACCOUNT) + b"".join(
        value.to_bytes(8, "big", signed=True) for value in (balance, sequence)
    )


@pytest.mark.parametrize(("balance", "sequence"), [(0, 0), (MOST, MOST)])
def test_account_entry_is_read_at_the_bounds_of_both_fields(balance: int, sequence: int) -> None:
    state = read_account(
        entry(balance, sequence) + b"fields of a later protocol", ACCOUNT, as_of_ledger=9
    )
    assert state is not None
    assert (state.balance, state.sequence, state.as_of_ledger) == (balance, sequence, 9)
    assert isinstance(state, AccountState)


@pytest.mark.parametrize(("balance", "sequence"), [(-1, 5), (5, -1)])
def test_account_entry_with_a_negative_field_is_none(balance: int, sequence: int) -> None:
    assert read_account(entry(balance, sequence), ACCOUNT, as_of_ledger=9) is None


def test_truncated_account_entry_is_none() -> None:
    whole = entry(5, 6)
    assert all(
        read_account(whole[:cut], ACCOUNT, as_of_ledger=9) is None for cut in range(len(whole))
    )
