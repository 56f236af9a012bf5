from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from stellar_sdk import Address as SdkAddress
from stellar_sdk import scval, xdr

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.landing import ending_of, moved_more
from farebox.facilitator.settlement import Claim, SettlementState
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.fate import Dead, Unproven
from farebox.x402.reasons import Reason

AT = datetime(2026, 11, 21, tzinfo=UTC)
ASSET, OTHER_ASSET = contract_address(bytes([1]) * 32), contract_address(bytes([2]) * 32)
PAYER, SELLER = account_address(bytes([3]) * 32), account_address(bytes([4]) * 32)
CLAIM = Claim(
    identity=PaymentIdentity(Network.TESTNET, PAYER, 1),
    claim_id=UUID(int=1),
    request_digest=bytes(32),
    asset=ASSET,
    amount=BaseUnits(10_000),
    pay_to=SELLER,
    expires_at_ledger=200,
    claimed_at=AT,
    max_timeout_s=60,
)


def event(
    *,
    asset: Address = ASSET,
    payer: Address = PAYER,
    to: Address = SELLER,
    amount: int = 10_000,
    name: str = "transfer",
    mux_id: int | None = None,
) -> str:
    data = scval.to_int128(amount)
    if mux_id is not None:
        members = {
            scval.to_symbol("amount"): data,
            scval.to_symbol("to_muxed_id"): scval.to_uint64(mux_id),
        }
        data = scval.to_map(members)
    topics = [scval.to_symbol(name), scval.to_address(payer), scval.to_address(to)]
    body = xdr.ContractEventBody(0, xdr.ContractEventV0(topics, data))
    contract = SdkAddress(asset).to_xdr_sc_address().contract_id
    kind = xdr.ContractEventType.CONTRACT
    return xdr.ContractEvent(xdr.ExtensionPoint(0), contract, kind, body).to_xdr()


def found(*events: str, status: LedgerStatus = LedgerStatus.SUCCESS) -> TransactionFound:
    return TransactionFound(
        "ab" * 32, status, 102, AT, "txSUCCESS", None, Stroops(23_000), (events,)
    )


def test_a_success_with_the_transfer_is_confirmed() -> None:
    ending = ending_of(found(event()), CLAIM)
    assert (ending.state, ending.reason) == (SettlementState.CONFIRMED, None)
    assert (ending.ledger, ending.fee_charged) == (102, 23_000)


def test_more_than_the_transfer_stays_confirmed() -> None:
    assert ending_of(found(event(name="note"), event()), CLAIM).state is SettlementState.CONFIRMED


@pytest.mark.parametrize(
    ("events", "more"),
    [
        ([event()], False),
        ([event(name="note"), event()], False),
        ([event(), event(amount=1)], True),
        ([event(name="approve"), event()], True),
        ([event(asset=OTHER_ASSET), event()], True),
    ],
)
def test_what_moves_beside_the_payment_is_noticed(events: list[str], *, more: bool) -> None:
    assert moved_more(found(*events), CLAIM) is more


@pytest.mark.parametrize(
    "events",
    [
        [],
        ["AAAA"],
        [event(asset=OTHER_ASSET)],
        [event(payer=SELLER)],
        [event(to=PAYER)],
        [event(amount=9_999)],
        [event(amount=10_001)],
        [event(name="mint")],
        [event(mux_id=7)],
    ],
)
def test_a_success_without_exactly_that_transfer_failed(events: list[str]) -> None:
    ending = ending_of(found(*events), CLAIM)
    assert (ending.state, ending.reason) == (SettlementState.FAILED, Reason.TRANSACTION_FAILED)


def test_a_failure_on_the_ledger_failed_whatever_it_says_it_moved() -> None:
    ending = ending_of(found(event(), status=LedgerStatus.FAILED), CLAIM)
    assert ending.state is SettlementState.FAILED


def test_the_other_fates_end_with_their_own_reasons() -> None:
    assert ending_of(Dead(120), CLAIM).reason is Reason.TRANSACTION_FAILED
    unproven = ending_of(Unproven(120), replace(CLAIM))
    assert (unproven.state, unproven.reason) == (
        SettlementState.UNPROVEN,
        Reason.OUTCOME_UNPROVEN,
    )
