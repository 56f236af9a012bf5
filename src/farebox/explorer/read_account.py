"""Read an account: a classic one (G…) or a contract (C…), and what it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from farebox.catalog.tokens.token import Token, TokenKind, identify_token
from farebox.explorer.holding import (
    NATIVE,
    Asset,
    Holding,
    HoldingState,
    holding_keys,
    judge_classic_holding,
    judge_contract_holding,
)
from farebox.explorer.ledger_reads import FoundEntries, LedgerReads
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import AccountEntry, account_key, read_account_entry
from farebox.stellar.balance_call import balance_envelope, read_returned_balance
from farebox.stellar.contract_instance import instance_key, read_contract_code
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    SimulationRefused,
    UnreadableSimulation,
    read_simulation,
)


class AccountNotFound(Refusal):
    """The address is not on the ledger."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.ACCOUNT_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Account:
    """An account as of `latest_ledger`.

    `entry` is set for a classic account, `code` for a contract that is on the ledger. A contract
    that is not there yet, or no longer, may hold tokens nevertheless.
    """

    address: Address
    latest_ledger: int
    holdings: tuple[Holding, ...]
    entry: AccountEntry | None = None
    code: Token | None = None

    @property
    def exists(self) -> bool:
        """Whether the account or the contract itself is on the ledger."""
        return self.entry is not None or self.code is not None


class AccountReader:
    """Reads accounts, in two reads of ledger entries and a simulation for each unusual token."""

    def __init__(self, network: Network, reads: LedgerReads) -> None:
        self._network, self._reads = network, reads

    async def read(self, address: Address, assets: Sequence[Asset]) -> Account:
        """Read the account at `address` and what it holds of `assets`.

        Raises:
            AccountNotFound: there is no such account, and no balance of a contract there.
            Outage: the network cannot be read now.
        """
        async with self._reads.within_deadline():
            found = await self._read_entries(address, assets)
            tokens = {each: self._token_of(each, found) for each in assets if each.name is None}
            named = [self._named(each, tokens.get(each)) for each in assets]
            found = await self._read_trustlines(address, assets, named, found)
            entry = self._read_entry(address, found)
            holdings = [
                await self._read_holding(address, entry, each, tokens.get(asset), found)
                for asset, each in zip(assets, named, strict=True)
            ]
        code = None if is_account(address) else self._code_of(address, found)
        account = Account(address, found.latest_ledger, tuple(holdings), entry, code)
        if not account.exists and not any(each.amount for each in holdings):
            raise AccountNotFound
        return account

    async def _read_entries(self, address: Address, assets: Sequence[Asset]) -> FoundEntries:
        is_classic = is_account(address)
        keys = [account_key(address) if is_classic else instance_key(address)]
        keys += [instance_key(each.contract) for each in assets if each.name is None]
        for each in assets:
            keys += holding_keys(address, each, is_classic=is_classic)
        return await self._reads.entries(keys)

    async def _read_trustlines(
        self,
        address: Address,
        assets: Sequence[Asset],
        named: Sequence[Asset],
        found: FoundEntries,
    ) -> FoundEntries:
        """Add the trustlines of the assets whose names were found."""
        if not is_account(address):
            return found  # the keys of a contract's balances need no name
        new = [each for each in named if each not in assets]
        keys = [key for each in new for key in holding_keys(address, each, is_classic=True)]
        if not keys:
            return found
        more = await self._reads.entries(keys)
        return FoundEntries({**found.entries, **more.entries}, more.latest_ledger)

    def _read_entry(self, address: Address, found: FoundEntries) -> AccountEntry | None:
        if not is_account(address):
            return None
        data = found.data(account_key(address))
        if data is None:
            raise AccountNotFound
        entry = read_account_entry(data, address)
        if entry is None:
            raise self._reads.unreadable("the account")
        return entry

    def _token_of(self, asset: Asset, found: FoundEntries) -> Token:
        code = self._code_of(asset.contract, found)
        return Token(TokenKind.ABSENT) if code is None else code

    def _code_of(self, contract: Address, found: FoundEntries) -> Token | None:
        data = found.data(instance_key(contract))
        if data is None:
            return None
        return identify_token(read_contract_code(data, contract), contract, self._network)

    def _named(self, asset: Asset, token: Token | None) -> Asset:
        """The asset with its name, where its contract proves to be the asset contract of one."""
        if token is None or token.kind is not TokenKind.ASSET_CONTRACT or token.code is None:
            return asset
        name = NATIVE if token.issuer is None else f"{token.code}:{token.issuer}"
        return Asset(asset.contract, name)

    async def _read_holding(
        self,
        address: Address,
        entry: AccountEntry | None,
        asset: Asset,
        token: Token | None,
        found: FoundEntries,
    ) -> Holding:
        if asset.name is None:
            if token is None or token.kind is TokenKind.ABSENT:
                return Holding(asset, HoldingState.NO_CONTRACT)
            return await self._simulate_balance(address, asset)
        if entry is None:
            holding = judge_contract_holding(address, asset, found)
        else:
            holding = judge_classic_holding(address, entry, asset, found)
        if holding is None:
            raise self._reads.unreadable("a balance")
        return holding

    async def _simulate_balance(self, address: Address, asset: Asset) -> Holding:
        answer = await self._reads.simulate(balance_envelope(asset.contract, address))
        # the token's code may emit any number of events; they are not needed
        simulation = read_simulation({**answer.result, "events": []})
        match simulation:
            case Simulated():
                amount = read_returned_balance(answer.result)
                state = HoldingState.NOT_A_TOKEN if amount is None else HoldingState.HELD
                return Holding(asset, state, amount)
            case NeedsRestore() | SimulationRefused(kind=RefusalKind.ARCHIVED):
                return Holding(asset, HoldingState.ARCHIVED)
            case SimulationRefused():
                return Holding(asset, HoldingState.NOT_A_TOKEN)
            case UnreadableSimulation():
                raise self._reads.unreadable("the simulation of a balance")
            case _:
                assert_never(simulation)


AccountReaders = Mapping[Network, AccountReader]
