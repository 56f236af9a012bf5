"""What one signed run allows, in sentences."""

from dataclasses import replace
from typing import Final

from farebox.automation.plans.run_sheet import write_run_sheet
from farebox.kernel.networks import Network
from farebox.stellar import known_tokens
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from support.plans import OWNER, PAIR, TARGET, USDC, WALLET

XLM: Final = known_tokens.NATIVE[Network.TESTNET].contract
PAID: Final = Invocation(
    XLM, "transfer", (address_of(OWNER), address_of(PAIR), ScNumber(ScKind.I128, 12_500_000))
)
RUN: Final = Invocation(TARGET, "feed", (address_of(OWNER), ScNumber(ScKind.U32, 7)), (PAID,))


def sheet(run: Invocation = RUN) -> tuple[str, ...]:
    """The sentences about a run of the owner."""
    return write_run_sheet(Network.TESTNET, OWNER, run, expires_at_ledger=500)


def test_sheet_of_a_run_has_every_argument_and_the_worst_case() -> None:
    usdc = known_tokens.USDC[Network.TESTNET].contract
    assert sheet() == (
        (
            f"This signature of the account {OWNER} on stellar:testnet allows one call, exactly as"
            " written here, once, at any time until ledger 500."
        ),
        f"Here USDC is the token {usdc}, XLM is the token {XLM}.",
        f"Call 1: feed of the contract {TARGET}, with 2 arguments.",
        f"Call 1, argument 1: exactly {OWNER}.",
        "Call 1, argument 2: exactly 7 (u32).",
        (
            "Call 2, inside call 1 and once in it: send exactly 1.25 XLM, from the account to"
            f" {PAIR}."
        ),
        "Nothing else is allowed: no other contract, function, argument or token.",
        "Worst case: the call is made at once, and 1.25 XLM leave the account.",
    )


def test_transfer_of_another_account_is_told_by_its_arguments() -> None:
    other = replace(PAID, arguments=(address_of(WALLET), *PAID.arguments[1:]))
    assert f"Call 1, argument 1 (from): exactly {WALLET}." in sheet(other)


def test_amounts_of_every_token_are_in_the_worst_case() -> None:
    both = replace(RUN, nested=(PAID, replace(PAID, contract=USDC)))
    assert sheet(both)[-1] == (
        "Worst case: the call is made at once, and 1.25 XLM and 12500000 base units of the token"
        f" {USDC} leave the account."
    )
    assert sheet(replace(RUN, nested=()))[-1] == (
        "Worst case: the call is made at once; no token may be paid from the account."
    )
