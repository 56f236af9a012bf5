"""The class of an error: of a result code, a simulation, and a contract's own number (3.9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.automation.runs.retries import ErrorClass
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    SimulationRefused,
    UnreadableSimulation,
)
from farebox.submission.try_again_later import TryAgainLaterCause

_RESULT_CODES: Final = MappingProxyType(
    {
        **{cause.value: ErrorClass.ADMISSION for cause in TryAgainLaterCause},
        "txINSUFFICIENT_FEE": ErrorClass.ADMISSION,
        "txBAD_SEQ": ErrorClass.SEQUENCE,
        "txTOO_LATE": ErrorClass.TOO_LATE,
        "txTOO_EARLY": ErrorClass.TRANSPORT,
        "txINTERNAL_ERROR": ErrorClass.TRANSPORT,
        "txINSUFFICIENT_BALANCE": ErrorClass.TRANSPORT,  # of the paymaster, never the owner's
    }
)
_REFUSALS: Final = MappingProxyType(
    {
        RefusalKind.NONCE_USED: ErrorClass.SEQUENCE,
        RefusalKind.EXPIRED: ErrorClass.TOO_LATE,
        RefusalKind.SIGNATURE: ErrorClass.SESSION,
        RefusalKind.BALANCE: ErrorClass.USER_FUNDS,
        RefusalKind.TRUSTLINE: ErrorClass.USER_FUNDS,
        RefusalKind.ARCHIVED: ErrorClass.ARCHIVED,
        RefusalKind.BUDGET: ErrorClass.PROGRAM,
        RefusalKind.UNREADABLE_EVENT: ErrorClass.PROGRAM,
        RefusalKind.OTHER: ErrorClass.PROGRAM,
    }
)


_TOO_LITTLE: Final = frozenset((RefusalKind.BALANCE.value, "contract_10"))  # of an asset contract


class ContractRole(StrEnum):
    """Whose number an error is: the same numbers mean other things elsewhere."""

    SMART_ACCOUNT = "smart_account"  # stellar-accounts
    TOKEN = "token"  # noqa: S105 - a kind of contract; the asset contract's errors (CAP-46-6)
    SOROSWAP = "soroswap"
    GUARD = "guard"  # the policy of a session
    MANDATE = "mandate"
    TARGET = "target"


# of stellar-accounts: no rule, no signer, unverified context, and the delegated signers of 0.7.3
_SESSION_GONE: Final = (3000, 3002, 3016, 3017, 3018)
# contracts/session-rules: the guard and the mandate refuse with the same numbers (RuleError), and
# no other contract that a plan calls has them
_RULES: Final[Mapping[int, ErrorClass]] = MappingProxyType(
    {
        4001: ErrorClass.SESSION,  # there is none
        4002: ErrorClass.SESSION,  # closed
        4003: ErrorClass.BUDGET,  # before its window
        4004: ErrorClass.SESSION,  # expired
        4005: ErrorClass.SESSION,  # the delegate is missing
        4006: ErrorClass.SESSION,  # another rule
        4007: ErrorClass.PROGRAM,  # installed already
        4008: ErrorClass.PROGRAM,  # the specification
        4009: ErrorClass.PROGRAM,  # no such call is listed
        4010: ErrorClass.PROGRAM,  # an argument
        4011: ErrorClass.PROGRAM,  # a nested call without its root call
        4012: ErrorClass.SESSION,  # used up
        4013: ErrorClass.BUDGET,  # the interval has not passed
        4014: ErrorClass.BUDGET,  # a cap is reached
        4015: ErrorClass.MARKET,  # the oracle has no price of now
        4016: ErrorClass.SEQUENCE,  # the run's index was used
        4017: ErrorClass.TOO_LATE,  # the run was signed for earlier ledgers
        4018: ErrorClass.PROGRAM,  # the calls are not one run
    }
)
_NUMBERS: Final[Mapping[ContractRole, Mapping[int, ErrorClass]]] = MappingProxyType(
    {
        ContractRole.SMART_ACCOUNT: {
            **dict.fromkeys(_SESSION_GONE, ErrorClass.SESSION),
            3221: ErrorClass.BUDGET,  # the spending limit of the period
        },
        ContractRole.TOKEN: {
            8: ErrorClass.USER_FUNDS,  # negative amount
            9: ErrorClass.USER_FUNDS,  # allowance
            10: ErrorClass.USER_FUNDS,  # balance
            11: ErrorClass.USER_FUNDS,  # the account is not authorized to hold it
            13: ErrorClass.USER_FUNDS,  # trustline
        },
        ContractRole.SOROSWAP: {
            503: ErrorClass.DEADLINE,
            507: ErrorClass.MARKET,
            508: ErrorClass.MARKET,
            511: ErrorClass.MARKET,
        },
        ContractRole.GUARD: _RULES,
        ContractRole.MANDATE: _RULES,
        ContractRole.TARGET: {},
    }
)


@dataclass(frozen=True, slots=True)
class ErrorNumbers:
    """The contracts that a plan's errors may come from; the first that has a number names it."""

    roles: tuple[ContractRole, ...]

    def find(self, number: int | None) -> ErrorClass | None:
        """The class of a contract's number; None for one that nothing here has."""
        if number is None:
            return None
        known = [_NUMBERS[role] for role in self.roles]
        return next((each[number] for each in known if number in each), None)


def classify_result(result_code: str) -> ErrorClass:
    """The class of a transaction's result code, or of the cause of a TRY_AGAIN_LATER."""
    return _RESULT_CODES.get(result_code, ErrorClass.PROGRAM)


def classify_simulation(
    simulation: SimulationRefused | NeedsRestore | UnreadableSimulation, numbers: ErrorNumbers
) -> ErrorClass:
    """The class of a simulation that gives no transaction.

    A refusal for an entry that is missing may come from a node that lags: it is tried again.
    """
    if isinstance(simulation, UnreadableSimulation):
        return ErrorClass.TRANSPORT
    if isinstance(simulation, NeedsRestore):
        return ErrorClass.ARCHIVED
    named = numbers.find(simulation.contract_error)
    if named is not None:
        return named
    is_lagging = simulation.entry_is_missing and simulation.kind is RefusalKind.OTHER
    return ErrorClass.TRANSPORT if is_lagging else _REFUSALS[simulation.kind]


def lacks_balance(error: ErrorClass | None, code: str | None) -> bool:
    """Whether a run failed because the account holds too little, by its class and its code.

    A missing trustline or allowance is the owner's to repair as well, but no deposit repairs it.
    """
    return error is ErrorClass.USER_FUNDS and code in _TOO_LITTLE
