"""What an account holds of an asset, judged from ledger entries."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.explorer.ledger_reads import FoundEntries
from farebox.kernel.addresses import Address, parse_account, parse_contract
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import AccountEntry, Liabilities
from farebox.stellar.asset_contract import USDC_CODE, USDC_ISSUERS, asset_contract
from farebox.stellar.contract_balance import ContractBalance, balance_key, read_contract_balance
from farebox.stellar.trustline import Trustline, read_trustline, trustline_key

NATIVE = "native"


class HoldingState(StrEnum):
    """What a balance means."""

    HELD = "held"  # it may be 0
    NO_TRUSTLINE = "no_trustline"  # the account can neither hold nor receive the asset
    ISSUER = "issuer"  # the account issues the asset: it has no balance of it
    ARCHIVED = "archived"  # it has to be restored before it can be used
    NOT_A_TOKEN = "not_a_token"  # noqa: S105 - a state: the contract gives no balance
    NO_CONTRACT = "no_contract"  # there is nothing at the contract's address


@dataclass(frozen=True, slots=True)
class Asset:
    """A token by its contract, and by its name where it is a classic asset.

    `name` is `native` or `CODE:ISSUER`; None for a contract that may be anything.
    """

    contract: Address
    name: str | None = None

    @property
    def issuer(self) -> Address | None:
        """The issuer of a classic asset; None for the native one and for other tokens."""
        return None if self.name is None else parse_account(self.name.partition(":")[2])


@dataclass(frozen=True, slots=True)
class Holding:
    """A balance in base units; `amount` None where it is not known or means nothing."""

    asset: Asset
    state: HoldingState
    amount: int | None = None
    native: Liabilities | None = None  # of the native balance of a classic account
    trustline: Trustline | None = None
    contract_balance: ContractBalance | None = None


def read_asset(text: str, network: Network) -> Asset | None:
    """Read `native`, `CODE:ISSUER` or a C… address; None for every other text."""
    contract = parse_contract(text)
    if contract is not None:
        known = {each.contract: each for each in usual_assets(network)}
        return known.get(contract, Asset(contract))
    contract = asset_contract(text, network)
    return None if contract is None else Asset(contract, text)


def usual_assets(network: Network) -> tuple[Asset, ...]:
    """The assets that are shown for every account: the native one and USDC."""
    names = (NATIVE, f"{USDC_CODE}:{USDC_ISSUERS[network]}")
    pairs = ((asset_contract(name, network), name) for name in names)
    return tuple(Asset(contract, name) for contract, name in pairs if contract is not None)


def holding_keys(holder: Address, asset: Asset, *, is_classic: bool) -> tuple[bytes, ...]:
    """The ledger keys that show what `holder` holds of a classic asset."""
    if not is_classic:
        return (balance_key(asset.contract, holder),)
    if asset.name is None or asset.issuer is None:
        return ()
    code, _, _ = asset.name.partition(":")
    return (trustline_key(holder, code=code, issuer=asset.issuer),)


def judge_classic_holding(
    holder: Address, account: AccountEntry, asset: Asset, found: FoundEntries
) -> Holding | None:
    """What a G… account holds of a classic asset; None where the trustline cannot be read."""
    if asset.name == NATIVE:
        return Holding(asset, HoldingState.HELD, account.balance, native=account.liabilities)
    if asset.issuer == holder:
        return Holding(asset, HoldingState.ISSUER)
    (key,) = holding_keys(holder, asset, is_classic=True)
    data = found.data(key)
    if data is None:
        return Holding(asset, HoldingState.NO_TRUSTLINE, 0)
    trustline = read_trustline(data, key)
    if trustline is None:
        return None
    return Holding(asset, HoldingState.HELD, trustline.balance, trustline=trustline)


def judge_contract_holding(holder: Address, asset: Asset, found: FoundEntries) -> Holding | None:
    """What a C… contract holds of a classic asset; None where the balance cannot be read."""
    key = balance_key(asset.contract, holder)
    data = found.data(key)
    if data is None:
        return Holding(asset, HoldingState.HELD, 0)
    balance = read_contract_balance(data, key)
    if balance is None:
        return None
    state = HoldingState.ARCHIVED if found.is_archived(key) else HoldingState.HELD
    return Holding(asset, state, balance.amount, contract_balance=balance)
