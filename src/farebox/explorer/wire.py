"""The JSON of `/v1/networks`, `/v1/accounts` and `/v1/contracts`."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.catalog.wire import AmountText, TokenBody, token_body
from farebox.explorer.holding import Holding, HoldingState
from farebox.explorer.read_account import Account
from farebox.explorer.read_contract import Contract, InterfaceState
from farebox.explorer.read_networks import NetworkReport
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment
from farebox.stellar.account_entry import AccountEntry, SignerKind
from farebox.stellar.asset_contract import USDC_CODE, USDC_ISSUERS, usdc_contract

Weight = Annotated[int, Meta(ge=0, le=255)]
SignerType = Literal[
    "ed25519_public_key", "preauth_tx", "sha256_hash", "ed25519_signed_payload_signer"
]
_SIGNER_TYPES: dict[SignerKind, SignerType] = {
    SignerKind.ED25519: "ed25519_public_key",
    SignerKind.PRE_AUTH_TX: "preauth_tx",
    SignerKind.HASH_X: "sha256_hash",
    SignerKind.SIGNED_PAYLOAD: "ed25519_signed_payload_signer",
}


class LedgerBody(msgspec.Struct, frozen=True, rename="camel"):
    """The latest ledger; `secondsPerLedger` is as observed."""

    sequence: int
    closed_at: Moment
    seconds_per_ledger: float


class FeesBody(msgspec.Struct, frozen=True, rename="camel"):
    """Fees in stroops, which the facilitator pays.

    The first two are inclusion fees of recent contract calls, 0 where there were none.
    `meanPayment` is the whole fee of the newest payments settled here.
    """

    inclusion_p99: AmountText
    inclusion_max: AmountText
    mean_payment: AmountText | UnsetType = UNSET


class AssetBody(msgspec.Struct, frozen=True):
    """A classic asset and its contract."""

    code: str
    issuer: str
    contract: str


class NetworkBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A network. While it is not available, `reason` says why and `ledger` is left out."""

    network: Network
    passphrase: str
    is_served: bool
    available: bool
    reason: str | UnsetType = UNSET
    protocol_version: int | UnsetType = UNSET
    ledger: LedgerBody | UnsetType = UNSET
    fees: FeesBody | UnsetType = UNSET
    usdc: AssetBody


class NetworksBody(msgspec.Struct, frozen=True):
    """Every network that Farebox knows."""

    networks: list[NetworkBody]


class BalanceBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A balance. `asset` is `native`, `CODE:ISSUER`, or the contract of a token without a name.

    `balance` is null where `state` says why there is none. The liabilities and the limit are those
    of a classic account; the authorization is the issuer's.
    """

    asset: str
    contract: str
    state: HoldingState
    balance: AmountText | None
    buying_liabilities: AmountText | UnsetType = UNSET
    selling_liabilities: AmountText | UnsetType = UNSET
    limit: AmountText | UnsetType = UNSET
    is_authorized: bool | UnsetType = UNSET
    is_authorized_to_maintain_liabilities: bool | UnsetType = UNSET
    is_clawback_enabled: bool | UnsetType = UNSET


class SignerBody(msgspec.Struct, frozen=True):
    """A signer of a classic account, the master key included."""

    key: str
    type: SignerType
    weight: Weight


class ThresholdsBody(msgspec.Struct, frozen=True):
    """The weights that operations of each level need; a payment is of the medium level."""

    low: Weight
    medium: Weight
    high: Weight


class AccountBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An account; `kind` says which members it has.

    A classic `account` has sequence, reserve, signers and thresholds; a `contract` has its code,
    unless `exists` is false: it holds tokens and is not on the ledger itself.
    """

    network: Network
    address: str
    kind: Literal["account", "contract"]
    exists: bool
    latest_ledger: int
    balances: list[BalanceBody]
    sequence: AmountText | UnsetType = UNSET
    minimum_reserve: AmountText | UnsetType = UNSET
    signers: list[SignerBody] | UnsetType = UNSET
    thresholds: ThresholdsBody | UnsetType = UNSET
    contract: TokenBody | UnsetType = UNSET


class InputBody(msgspec.Struct, frozen=True):
    """A parameter; `type` is as in Rust: `i128`, `Vec<Address>`."""

    name: str
    type: str


class FunctionBody(msgspec.Struct, frozen=True):
    """A function; `output` is null where it returns nothing."""

    name: str
    inputs: list[InputBody]
    output: str | None


class ContractBody(TokenBody, frozen=True, rename="camel", kw_only=True):
    """A contract. `functions` is null unless `interface` is `read`; its words are a stranger's."""

    network: Network
    contract: str
    latest_ledger: int
    is_archived: bool
    interface: InterfaceState
    functions: list[FunctionBody] | None


def networks_body(reports: tuple[NetworkReport, ...]) -> NetworksBody:
    """Render the networks."""
    return NetworksBody([_network_body(each) for each in reports])


def _network_body(report: NetworkReport) -> NetworkBody:
    network, reading, fees = report.network, report.reading, report.fees
    return NetworkBody(
        network=network,
        passphrase=network.passphrase,
        is_served=report.is_served,
        available=reading is not None,
        reason=report.reason or UNSET,
        protocol_version=report.protocol_version or UNSET,
        ledger=UNSET
        if reading is None
        else LedgerBody(reading.sequence, reading.close_at, round(reading.cadence_s, 2)),
        fees=UNSET
        if fees is None
        else FeesBody(str(fees.p99), str(fees.maximum), _amount(report.mean_fee)),
        usdc=AssetBody(USDC_CODE, USDC_ISSUERS[network], usdc_contract(network)),
    )


def account_body(account: Account, network: Network) -> AccountBody:
    """Render an account."""
    entry, code = account.entry, account.code
    body = AccountBody(
        network=network,
        address=account.address,
        kind="contract" if entry is None else "account",
        exists=account.exists,
        latest_ledger=account.latest_ledger,
        balances=[_balance_body(each) for each in account.holdings],
        contract=UNSET if code is None else token_body(code),
    )
    if entry is None:
        return body
    thresholds = entry.thresholds
    return msgspec.structs.replace(
        body,
        sequence=str(entry.sequence),
        minimum_reserve=str(entry.minimum_balance),
        signers=_signers(account.address, entry),
        thresholds=ThresholdsBody(thresholds.low, thresholds.medium, thresholds.high),
    )


def _signers(address: Address, entry: AccountEntry) -> list[SignerBody]:
    master = SignerBody(address, _SIGNER_TYPES[SignerKind.ED25519], entry.thresholds.master)
    others = [
        SignerBody(each.text, _SIGNER_TYPES[each.kind], each.weight) for each in entry.signers
    ]
    return [master, *others]


def _balance_body(holding: Holding) -> BalanceBody:
    asset, trustline, held = holding.asset, holding.trustline, holding.contract_balance
    liabilities = trustline.liabilities if trustline is not None else holding.native
    issued = trustline or held
    return BalanceBody(
        asset=asset.name or asset.contract,
        contract=asset.contract,
        state=holding.state,
        balance=None if holding.amount is None else str(holding.amount),
        buying_liabilities=UNSET if liabilities is None else str(liabilities.buying),
        selling_liabilities=UNSET if liabilities is None else str(liabilities.selling),
        limit=UNSET if trustline is None else str(trustline.limit),
        is_authorized=UNSET if issued is None else issued.is_authorized,
        is_authorized_to_maintain_liabilities=UNSET
        if trustline is None
        else trustline.is_authorized or trustline.keeps_offers,
        is_clawback_enabled=UNSET if issued is None else issued.is_clawback_enabled,
    )


def contract_body(contract: Contract, network: Network) -> ContractBody:
    """Render a contract."""
    code = token_body(contract.token)
    is_read = contract.interface is InterfaceState.READ
    functions = [
        FunctionBody(
            each.name,
            [InputBody(one.name, str(one.type)) for one in each.inputs],
            None if each.output is None else str(each.output),
        )
        for each in contract.functions
    ]
    return ContractBody(
        kind=code.kind,
        wasm_hash=code.wasm_hash,
        code=code.code,
        issuer=code.issuer,
        owner=code.owner,
        network=network,
        contract=contract.address,
        latest_ledger=contract.latest_ledger,
        is_archived=contract.is_archived,
        interface=contract.interface,
        functions=functions if is_read else None,
    )


def _amount(value: int | None) -> str | UnsetType:
    return UNSET if value is None else str(value)
