"""The payloads of the four kinds of plans, as callers send them (3.4 of the design).

Amounts are whole base units as decimal text. `plan_rules.py` holds what the shapes cannot say.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

MAX_ARGUMENTS: Final = 12
MAX_TYPE_CHARACTERS: Final = 256
MAX_VALUE_DEPTH: Final = 32  # of JSON: typed values are 8 deep, with 3 levels each at most
MAX_LEGS: Final = 100
MAX_ASSETS: Final = 16
MAX_PATH: Final = 5
MAX_REFERENCE: Final = 64
MOST_SLIPPAGE_BPS: Final = 500
LEAST_DRIFT_BPS: Final = 50
BPS: Final = 10_000

AddressText = Annotated[str, Meta(max_length=56)]
AmountText = Annotated[str, Meta(max_length=39)]
HashText = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", max_length=64)]
Slippage = Annotated[int, Meta(ge=0, le=MOST_SLIPPAGE_BPS)]


class PlanKind(StrEnum):
    """The four kinds of plans."""

    CONTRACT_CALL = "contract_call"
    DCA = "dca"
    REBALANCE = "rebalance"
    DISBURSEMENT = "disbursement"


class Venue(StrEnum):
    """An exchange whose router the operator has configured for the network."""

    SOROSWAP = "soroswap"
    AQUARIUS = "aquarius"


class DisbursementMode(StrEnum):
    """How often the legs are paid: on every run, or once in all."""

    FIXED = "fixed"
    ONCE = "once"


class OnLegError(StrEnum):
    """What a disbursement does after a leg that failed."""

    STOP = "stop"
    CONTINUE = "continue"


class PlanShape(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How every payload is read."""


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class TypedArgument(PlanShape, frozen=True):
    """A value and its type; `typed_arguments.py` reads both."""

    type: Annotated[str, Meta(max_length=MAX_TYPE_CHARACTERS)]
    value: Any

    def __post_init__(self) -> None:
        """Refuse a value that is deeper than any typed one, which an encoder may not get through.

        Raises:
            ValueError: it is.
        """
        level: list[object] = [self.value]
        for _ in range(MAX_VALUE_DEPTH):
            level = [below for each in level for below in _members(each)]
            if not level:
                return
        raise ValueError(
            f"Expected lists and objects that are nested {MAX_VALUE_DEPTH} deep at most"
        )


class TokenAmountText(PlanShape, frozen=True):
    """An amount of a token."""

    token: AddressText
    amount: AmountText


class EffectsText(PlanShape, frozen=True):
    """What a run may take from the account at most, and must give it at least."""

    max_debit: Annotated[list[TokenAmountText], Meta(max_length=8)] = []
    min_credit: Annotated[list[TokenAmountText], Meta(max_length=8)] = []


class RateText(PlanShape, frozen=True):
    """A rate: `num` base units of the received token for `den` of the paid one."""

    num: AmountText
    den: AmountText


class OracleFloorText(PlanShape, frozen=True):
    """A floor by the price of an oracle (SEP-40)."""

    oracle: AddressText
    max_deviation_bps: Annotated[int, Meta(ge=0, lt=BPS)]
    max_age_seconds: Annotated[int, Meta(ge=1, le=86_400)]


class ContractCallSpec(PlanShape, frozen=True):
    """A call of any function. With `autolayer` function and arguments are those of 3.14."""

    contract: AddressText
    effects: EffectsText
    function: (
        Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,31}$(?!\n)", max_length=32)] | None
    ) = None
    args: Annotated[list[TypedArgument], Meta(max_length=MAX_ARGUMENTS)] = []
    autolayer: bool = False
    expected_wasm_hash: HashText | None = None


class DcaSpec(PlanShape, frozen=True):
    """Buy one token with a fixed amount of another; what is bought goes to the account."""

    venue: Venue
    token_in: AddressText
    token_out: AddressText
    amount_in: AmountText
    slippage_bps: Slippage
    min_rate: RateText
    path: Annotated[list[AddressText], Meta(min_length=2, max_length=MAX_PATH)] | None = None
    pools: Annotated[list[HashText], Meta(min_length=1, max_length=MAX_PATH - 1)] | None = None
    oracle_floor: OracleFloorText | None = None
    receiver: AddressText | None = None


class AssetWeight(PlanShape, frozen=True):
    """The share of a token in a portfolio; all of them are 10,000."""

    token: AddressText
    weight_bps: Annotated[int, Meta(ge=1, lt=BPS)]


class RebalanceSpec(PlanShape, frozen=True):
    """Trade towards weights when one drifts; `strategy` is a contract of the convention of 3.14."""

    assets: Annotated[list[AssetWeight], Meta(min_length=2, max_length=MAX_ASSETS)]
    drift_bps: Annotated[int, Meta(ge=LEAST_DRIFT_BPS, lt=BPS)]
    max_trade_per_run: Annotated[list[TokenAmountText], Meta(min_length=1, max_length=MAX_ASSETS)]
    oracle: AddressText
    max_slippage_bps: Slippage
    venue: Venue
    strategy: AddressText | None = None


class LegText(PlanShape, frozen=True):
    """A payment to one recipient; `ref` is the owner's own note."""

    to: AddressText
    amount: AmountText
    ref: Annotated[str, Meta(max_length=MAX_REFERENCE)] | None = None


class DisbursementSpec(PlanShape, frozen=True):
    """Pay several recipients; `batch`: in one transaction of a batch target or a mandate."""

    token: AddressText
    legs: Annotated[list[LegText], Meta(min_length=1, max_length=MAX_LEGS)]
    mode: DisbursementMode = DisbursementMode.FIXED
    on_leg_error: OnLegError = OnLegError.STOP
    batch: bool = False


PlanSpec = ContractCallSpec | DcaSpec | RebalanceSpec | DisbursementSpec
SPECS: Final[dict[PlanKind, type[PlanSpec]]] = {
    PlanKind.CONTRACT_CALL: ContractCallSpec,
    PlanKind.DCA: DcaSpec,
    PlanKind.REBALANCE: RebalanceSpec,
    PlanKind.DISBURSEMENT: DisbursementSpec,
}
