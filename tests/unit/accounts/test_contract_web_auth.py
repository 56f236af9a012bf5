"""Sign-in of a contract account: the meaning of a node's simulation, and the calls it costs."""

import asyncio
import base64
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.accounts.contract_challenge import WebAuthContract, WebAuthDomain
from farebox.accounts.contract_web_auth import AccountArchived, ContractWebAuth
from farebox.accounts.web_auth_scheme import (
    ChallengeNotOpen,
    ContractSignInUnavailable,
    ReturnedChallenge,
    SignatureRefused,
)
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.web_auth import HOME, WEB_AUTH, relayer_of

LATEST: Final = 5_000
_Result = dict[str, object]
EMPTY: Final = base64.b64encode(bytes(32)).decode()  # resources of nothing, for nothing


def _contract(fill: int) -> Address:
    address = parse_contract(StrKey.encode_contract(bytes([fill]) * 32))
    assert address is not None
    return address


DOMAIN: Final = WebAuthDomain(HOME, WEB_AUTH, relayer_of(Keypair.random()))
GROUND: Final = WebAuthContract(Network.TESTNET, _contract(9))
KEYS: Final = (account_key(DOMAIN.signer.address), instance_key(GROUND.address))


class Node(FakeRpc):
    """A node that returns one simulation result; also a ledger clock."""

    def __init__(self, **result: object) -> None:
        self.result: _Result = result
        self.keys: tuple[bytes, ...] = KEYS
        self.sequence = LATEST
        self.calls: list[str] = []
        self.busy = self.busiest = 0

    def now(self) -> LedgerReading:
        """Return the ledger reading that the test sets."""
        return LedgerReading(self.sequence, START, 5.0, 0.0)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Return the one result."""
        assert envelope
        self.calls.append("simulate")
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        return RawSimulation(self.result)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Return the entries whose keys the test names."""
        self.calls.append("entries")
        found = [LedgerEntry(key, b"", None) for key in keys if key in self.keys]
        return LedgerEntries(tuple(found), self.sequence)


def _login(node: Node, clock: ManualClock | None = None) -> ContractWebAuth:
    return ContractWebAuth(DOMAIN, GROUND, node, node, clock or ManualClock())


async def _returned(node: Node) -> ReturnedChallenge:
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
        ({"transactionData": EMPTY}, ContractSignInUnavailable),
        ({"transactionData": "AAAA"}, Outage),
        ({}, Outage),
        ({"error": 5}, Outage),
        ({"latestLedger": LATEST - 1, "error": "no such contract"}, Outage),
        ({"latestLedger": LATEST - 3, "transactionData": EMPTY}, Outage),
        ({"error": "preflight queue full"}, Outage),
        ({"latestLedger": "5000", "error": REFUSED}, Outage),
    ],
)
async def test_sign_in_fails_unless_the_simulation_required_both_signatures(
    result: _Result, raised: type[Exception]
) -> None:
    shown = await _returned(Node(**{"latestLedger": LATEST, **result}))
    with pytest.raises(raised):
        await shown.verify()


@pytest.mark.parametrize("events", [["AAAA"] * 5_000, "none", [5], None])
async def test_events_of_a_simulation_are_not_read(events: object) -> None:
    refused = {"latestLedger": LATEST, "error": REFUSED}
    shown = await _returned(Node(**refused, events=events))
    with pytest.raises(SignatureRefused):
        await shown.verify()


async def test_challenge_expires_after_sixty_ledgers_and_is_then_not_simulated() -> None:
    node = Node(latestLedger=LATEST + 60, error=REFUSED)
    shown = await _returned(node)
    node.sequence = LATEST + 60
    with pytest.raises(SignatureRefused):
        await shown.verify()
    node.sequence += 1
    with pytest.raises(ChallengeNotOpen):
        await shown.verify()
    assert node.calls.count("simulate") == 1


async def test_challenge_expires_after_five_minutes() -> None:
    issued = await _login(Node()).issue(_contract(7))
    assert issued.expires_at == START + timedelta(minutes=5)


async def test_at_most_four_simulations_run_at_once() -> None:
    node = Node(latestLedger=LATEST, error=REFUSED)
    login = _login(node)
    shown = [login.read((await login.issue(_contract(7))).document) for _ in range(20)]
    ended = await asyncio.gather(*(each.verify() for each in shown), return_exceptions=True)
    assert {type(each) for each in ended} == {SignatureRefused}
    assert node.busiest == 4


@pytest.mark.parametrize("there", [(), KEYS[:1], KEYS[1:]])
async def test_missing_ledger_entries_are_read_again_only_after_a_pause(
    there: tuple[bytes, ...],
) -> None:
    node, clock = Node(), ManualClock()
    node.keys = there
    login = _login(node, clock)
    for _ in range(10):
        with pytest.raises(ContractSignInUnavailable):
            await login.issue(_contract(7))
    assert node.calls == ["entries"]
    node.keys = KEYS
    clock.turn(6)
    for _ in range(10):
        await login.issue(_contract(7))
    assert node.calls == ["entries"] * 2


async def test_web_auth_contract_gets_no_challenge_and_costs_no_call() -> None:
    node = Node()
    with pytest.raises(Refusal, match="cannot sign in"):
        await _login(node).issue(GROUND.address)
    assert node.calls == []
