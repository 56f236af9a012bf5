"""What a node's answer means for a contract account that signs in, and what is never asked."""

import asyncio
import base64
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.accounts.contract_challenge import LIFE_LEDGERS, Domain, Ground
from farebox.accounts.contract_sign_in import AccountArchived, ContractSignIn
from farebox.accounts.login import (
    ChallengeNotOpen,
    ContractLoginUnavailable,
    Shown,
    SignatureRefused,
)
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation
from support.manual_clock import START, ManualClock
from support.web_auth import HOME, WEB_AUTH, relayer_of

LATEST: Final = 5_000
_Result = dict[str, object]
EMPTY: Final = base64.b64encode(bytes(32)).decode()  # resources of nothing, for nothing


def _contract(fill: int) -> Address:
    address = parse_contract(StrKey.encode_contract(bytes([fill]) * 32))
    assert address is not None
    return address


DOMAIN: Final = Domain(HOME, WEB_AUTH, relayer_of(Keypair.random()))
GROUND: Final = Ground(Network.TESTNET, _contract(9))
KEYS: Final = (account_key(DOMAIN.signer.address), instance_key(GROUND.contract))


class Node:
    """Answers what it is told to; a ledger clock besides."""

    def __init__(self, **result: object) -> None:
        self.result: _Result = result
        self.keys: tuple[bytes, ...] = KEYS
        self.sequence = LATEST
        self.asked: list[str] = []
        self.busy = self.busiest = 0

    def now(self) -> LedgerReading:
        """As a ledger clock."""
        return LedgerReading(self.sequence, START, 5.0, 0.0)

    async def simulate(self, envelope: str) -> RawSimulation:
        """The one result."""
        assert envelope
        self.asked.append("simulate")
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        return RawSimulation(self.result, 0)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Those that are there."""
        self.asked.append("entries")
        found = [LedgerEntry(key, b"", None) for key in keys if key in self.keys]
        return LedgerEntries(tuple(found), self.sequence)


def _login(node: Node, clock: ManualClock | None = None) -> ContractSignIn:
    return ContractSignIn(DOMAIN, GROUND, node, node, clock or ManualClock())


async def _shown(node: Node) -> Shown:
    login = _login(node)
    return login.read((await login.issue(_contract(7))).document)


REFUSED = "HostError: Error(Auth, InvalidAction)"


@pytest.mark.parametrize(
    ("result", "raised"),
    [
        ({"error": REFUSED}, SignatureRefused),
        ({"error": "HostError: Error(Budget, ExceededLimit)"}, SignatureRefused),
        ({"error": "HostError: Error(Storage, InvalidInput)\narchived"}, AccountArchived),
        ({"restorePreamble": {"minResourceFee": "1"}}, AccountArchived),
        ({"transactionData": EMPTY}, ContractLoginUnavailable),
        ({"transactionData": "AAAA"}, Outage),
        ({}, Outage),
        ({"error": 5}, Outage),
        ({"latestLedger": LATEST - 1, "error": "no such contract"}, Outage),
        ({"latestLedger": LATEST - 3, "transactionData": EMPTY}, Outage),
        ({"error": "preflight queue full"}, Outage),
        ({"latestLedger": "5000", "error": REFUSED}, Outage),
    ],
)
async def test_only_success_that_asked_both_signs_in(
    result: _Result, raised: type[Exception]
) -> None:
    shown = await _shown(Node(**{"latestLedger": LATEST, **result}))
    with pytest.raises(raised):
        await shown.prove()


@pytest.mark.parametrize("events", [["AAAA"] * 5_000, "none", [5], None])
async def test_what_an_account_says_while_it_is_asked_is_not_read(events: object) -> None:
    told = {"latestLedger": LATEST, "error": REFUSED}
    shown = await _shown(Node(**told, events=events))
    with pytest.raises(SignatureRefused):
        await shown.prove()


async def test_after_its_last_ledger_a_challenge_asks_nobody() -> None:
    node = Node(latestLedger=LATEST, error=REFUSED)
    shown = await _shown(node)
    node.sequence = LATEST + LIFE_LEDGERS + 1
    with pytest.raises(ChallengeNotOpen):
        await shown.prove()
    assert "simulate" not in node.asked


async def test_the_challenges_row_lasts_as_long_as_sixty_slow_ledgers() -> None:
    issued = await _login(Node()).issue(_contract(7))
    assert issued.expires_at == START + timedelta(minutes=5)


async def test_no_more_than_four_accounts_are_asked_at_once() -> None:
    node = Node(latestLedger=LATEST, error=REFUSED)
    login = _login(node)
    shown = [login.read((await login.issue(_contract(7))).document) for _ in range(20)]
    ended = await asyncio.gather(*(each.prove() for each in shown), return_exceptions=True)
    assert {type(each) for each in ended} == {SignatureRefused}
    assert node.busiest == 4


@pytest.mark.parametrize("there", [(), KEYS[:1], KEYS[1:]])
async def test_what_is_missing_on_the_ledger_is_looked_for_now_and_then(
    there: tuple[bytes, ...],
) -> None:
    node, clock = Node(), ManualClock()
    node.keys = there
    login = _login(node, clock)
    for _ in range(10):
        with pytest.raises(ContractLoginUnavailable):
            await login.issue(_contract(7))
    assert node.asked == ["entries"]
    node.keys = KEYS
    clock.turn(6)
    for _ in range(10):
        await login.issue(_contract(7))
    assert node.asked == ["entries"] * 2


async def test_the_web_auth_contract_gets_no_challenge_and_costs_no_call() -> None:
    node = Node()
    with pytest.raises(Refusal, match="cannot sign in"):
        await _login(node).issue(GROUND.contract)
    assert node.asked == []
