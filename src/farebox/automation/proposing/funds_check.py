"""Whether the account of a plan and its recipients can pay and be paid, as of the newest ledger.

Balances are read of classic assets; what another token's contract does is left to the dry run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.proposing.preflight_report import PlanCheck, failed
from farebox.automation.proposing.target_code import TargetReader
from farebox.kernel.addresses import Address, is_account, parse_account
from farebox.stellar.account_entry import account_key, read_account_entry
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.contract_balance import balance_key, read_contract_balance
from farebox.stellar.contract_instance import AssetCode, instance_key
from farebox.stellar.scval import ScAddress, ScNumber
from farebox.stellar.trustline import read_trustline, trustline_key

NATIVE: Final = "native"
_NEW_ACCOUNT: Final = 10_000_000  # stroops: the least transfer that makes an account (CAP-73)
_MOST_KEYS: Final = 200  # of one read


@dataclass(frozen=True, slots=True)
class LegPayment:
    """What one leg pays to whom."""

    token: Address
    to: Address
    amount: int


@dataclass(frozen=True, slots=True)
class HeldAsset:
    """What an address holds of a classic asset; `why` says why it can hold none.

    `exists` is False for a classic account that is not on the ledger. `room` is what it can still
    receive, None without a limit.
    """

    amount: int = 0
    why: str | None = None
    exists: bool = True
    room: int | None = None


class FundsCheck:
    """Reads what accounts hold on one network."""

    def __init__(self, targets: TargetReader, ledger: EntryReader) -> None:
        self._targets, self._ledger = targets, ledger

    async def check(self, account: Address, calls: RunCalls, *, moves: bool) -> list[PlanCheck]:
        """Check the account, and with `moves` its balances and its recipients.

        Raises:
            RpcUnavailable: no node answers.
        """
        debits, credits_ = run_needs(calls) if moves else ({}, ())
        payments = list(_payments(calls)) if moves else []
        assets = await self._assets({*debits, *credits_, *(each.token for each in payments)})
        entries = await self._read(account, assets, payments)
        checks = [_check_account(account, entries)]
        for token, amount in debits.items():
            if token in assets:
                held = _held(account, token, assets[token], entries)
                checks.append(_check_balance(token, amount, held))
        checks += [
            _check_credit(token, _held(account, token, assets[token], entries))
            for token in credits_
            if token in assets and token not in debits
        ]
        for number, payment in enumerate(payments):
            if payment.token in assets:
                held = _held(payment.to, payment.token, assets[payment.token], entries)
                checks.append(_check_recipient(number, payment, assets[payment.token], held))
        return checks

    async def _assets(self, tokens: set[Address]) -> dict[Address, str]:
        """The names of those tokens that are classic assets."""
        codes = {token: await self._targets.find_code(token) for token in sorted(tokens)}
        return {
            token: code.name
            for token, code in codes.items()
            if isinstance(code, AssetCode) and code.name and self._is_own(token, code.name)
        }

    def _is_own(self, token: Address, name: str) -> bool:
        return asset_contract(name, self._targets.network) == token

    async def _read(
        self, account: Address, assets: Mapping[Address, str], payments: Sequence[LegPayment]
    ) -> dict[bytes, bytes]:
        holders = dict.fromkeys((account, *(each.to for each in payments)))
        keys = dict.fromkeys(key for each in holders for key in _keys(each, assets))
        found: dict[bytes, bytes] = {}
        listed = list(keys)
        for start in range(0, len(listed), _MOST_KEYS):
            answer = await self._ledger.ledger_entries(listed[start : start + _MOST_KEYS])
            found |= {entry.key: entry.data for entry in answer.entries}
        return found


def run_needs(calls: RunCalls) -> tuple[dict[Address, int], tuple[Address, ...]]:
    """What the account must have for one run, and the tokens that it must be able to receive.

    A run that chooses one of several calls, as a rebalance does, sells what the account has too
    much of: there is no token that it must have.
    """
    roots = sum(each.allowed.under is None for each in calls.planned.calls)
    if roots > 1:
        return {}, tuple(dict.fromkeys((*_debits(calls), *_credited(calls))))
    return _debits(calls), _credited(calls)


def _debits(calls: RunCalls) -> dict[Address, int]:
    """The most that one whole run takes of each token."""
    total: dict[Address, int] = {}
    for effects in calls.effects:
        for each in effects.max_debit:
            total[each.token] = total.get(each.token, 0) + each.amount
    return total


def _credited(calls: RunCalls) -> tuple[Address, ...]:
    credited = (each.token for effects in calls.effects for each in effects.min_credit)
    return tuple(dict.fromkeys(credited))


def _payments(calls: RunCalls) -> Iterator[LegPayment]:
    """The payments of a disbursement: the rows of its one call."""
    root = calls.planned.calls[0].allowed
    for row in root.rows:
        match row:
            case (ScAddress() as to, ScNumber(_, amount)) if to.plain is not None:
                yield LegPayment(root.contract, to.plain, amount)


def _keys(holder: Address, assets: Mapping[Address, str]) -> Iterator[bytes]:
    """The ledger keys that show whether a holder is there, and what it holds."""
    if not is_account(holder):
        yield instance_key(holder)
        yield from (balance_key(token, holder) for token in assets)
        return
    yield account_key(holder)
    for name in assets.values():
        code, _, issuer = name.partition(":")
        address = parse_account(issuer)
        if address is not None and address != holder:
            yield trustline_key(holder, code=code, issuer=address)


def _held(holder: Address, token: Address, name: str, entries: Mapping[bytes, bytes]) -> HeldAsset:
    if not is_account(holder):
        key = balance_key(token, holder)
        balance = read_contract_balance(entries.get(key, b""), key)
        return HeldAsset(0 if balance is None else balance.amount)
    data = entries.get(account_key(holder))
    account = None if data is None else read_account_entry(data, holder)
    if account is None:
        return HeldAsset(why="The account is not on the ledger.", exists=False)
    if name == NATIVE:
        kept = account.minimum_balance + account.liabilities.selling
        return HeldAsset(max(0, account.balance - kept))
    code, _, issuer = name.partition(":")
    if issuer == holder:
        return HeldAsset(2**63 - 1)
    key = trustline_key(holder, code=code, issuer=Address(issuer))
    trustline = read_trustline(entries.get(key, b""), key)
    if trustline is None:
        return HeldAsset(why="The account has no trustline for the asset.")
    if not trustline.is_authorized:
        return HeldAsset(why="The issuer has not authorized the account to hold the asset.")
    room = trustline.limit - trustline.balance - trustline.liabilities.buying
    return HeldAsset(max(0, trustline.balance - trustline.liabilities.selling), room=room)


def _check_account(account: Address, entries: Mapping[bytes, bytes]) -> PlanCheck:
    key = account_key(account) if is_account(account) else instance_key(account)
    is_there = key in entries
    words = "is" if is_there else "is not"
    return PlanCheck("account_exists", is_there, f"{account} {words} on the ledger.")


def _check_balance(token: Address, amount: int, held: HeldAsset) -> PlanCheck:
    if held.why is not None:
        return failed("balance", f"Token {token}: {held.why}")
    detail = f"Token {token}: a run takes {amount} base units at most, of {held.amount}."
    return PlanCheck("balance", held.amount >= amount, detail)


def _check_credit(token: Address, held: HeldAsset) -> PlanCheck:
    detail = held.why or "The account can receive it."
    return PlanCheck("trustline", held.why is None, f"Token {token}: {detail}")


def _check_recipient(number: int, payment: LegPayment, name: str, held: HeldAsset) -> PlanCheck:
    is_new = name == NATIVE and not held.exists and payment.amount >= _NEW_ACCOUNT
    is_full = held.room is not None and held.room < payment.amount
    why = None if is_new else held.why
    if why is None and is_full:
        why = f"Its trustline has room for {held.room} base units."
    detail = why or ("The payment creates the account." if is_new else "It can be paid.")
    return PlanCheck("recipient", why is None, f"Leg {number}, {payment.to}: {detail}")
