"""What the signature of one run allows, in sentences: one exact call, and the calls inside it.

A plan that is signed ahead has such a sheet for each of its entries. The console writes the same
sentences in the browser (`console/src/wallet/writeRunSheet.ts`).
"""

from collections.abc import Iterator

from farebox.automation.plans.sheet_words import (
    NOTHING_ELSE,
    TokenNames,
    count_of,
    has_amount,
    name_argument,
    name_tokens,
)
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.invocations import Invocation, flatten
from farebox.stellar.scval import ScAddress, ScKind, ScNumber
from farebox.stellar.scval_writer import address_of


def write_run_sheet(
    network: Network, account: Address, run: Invocation, *, expires_at_ledger: int
) -> tuple[str, ...]:
    """The sentences about an entry of `account` for the tree `run`; the last ledger is included."""
    names = name_tokens(network, ())
    return (
        (
            f"This signature of the account {account} on {network} allows one call, exactly as"
            f" written here, once, at any time until ledger {expires_at_ledger}."
        ),
        names.explain(),
        *(
            line
            for number, (call, inside) in enumerate(_numbered(run), start=1)
            for line in _call_lines(names, account, number, call, inside)
        ),
        NOTHING_ELSE,
        _worst_case(names, run),
    )


def _numbered(run: Invocation) -> list[tuple[Invocation, int | None]]:
    """The calls in pre-order, each with the number of the call that it is inside of."""
    found: list[tuple[Invocation, int | None]] = []

    def add(call: Invocation, inside: int | None) -> None:
        found.append((call, inside))
        number = len(found)
        for each in call.nested:
            add(each, number)

    add(run, None)
    return found


def _call_lines(
    names: TokenNames, account: Address, number: int, call: Invocation, inside: int | None
) -> Iterator[str]:
    head = f"Call {number}" + ("" if inside is None else f", inside call {inside} and once in it")
    match (call.function, *call.arguments):
        case ("transfer", payer, ScAddress() as to, ScNumber(ScKind.I128, amount)) if (
            payer == address_of(account)
        ):
            paid = names.amount(call.contract, amount)
            yield f"{head}: send exactly {paid}, from the account to {show_value(to)}."
            return
    what = f"{call.function} of {names.contract(call.contract)}"
    yield f"{head}: {what}, with {count_of(len(call.arguments), 'argument')}."
    for place, value in enumerate(call.arguments):
        name = name_argument(call.function, len(call.arguments), place)
        yield f"Call {number}, {name}: exactly {show_value(value, names.names)}."


def _worst_case(names: TokenNames, run: Invocation) -> str:
    losses = []
    for call in flatten(run):
        place = has_amount(call.function, len(call.arguments))
        amount = None if place is None else call.arguments[place]
        if isinstance(amount, ScNumber):
            losses.append(names.amount(call.contract, amount.value))
    if not losses:
        return "Worst case: the call is made at once; no token may be paid from the account."
    return f"Worst case: the call is made at once, and {' and '.join(losses)} leave the account."
