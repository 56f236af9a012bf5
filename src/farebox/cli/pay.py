"""`farebox pay`: fetch a URL, and pay for it when the seller requires a payment."""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from farebox.buyer.authorization import CredentialForm
from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.outcome import Outcome
from farebox.buyer.pay import MAX_LIFE_S, WAIT_S, Buyer, LedgerLooker, repeat_payment
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest
from farebox.buyer.signed_payment import (
    NodeAddress,
    PaymentFileRefused,
    default_folder,
    open_payment,
)
from farebox.buyer.wallet import Wallet, default_path, open_wallet
from farebox.cli.exits import Unavailable, UserActionRequired, run
from farebox.cli.networks import (
    CheckedNode,
    NetworkName,
    NodeEndpoint,
    check_passphrase,
    node_endpoint,
    node_options,
    wallet_option,
)
from farebox.cli.paying import (
    PaymentTrail,
    PromptingApprover,
    broken_outcome,
    describe,
    exit_code,
    is_over,
    outcome_json,
    response_of,
)
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import find_token, parse_units
from farebox.stellar.rpc import RpcUnavailable

F = TypeVar("F", bound=Callable[..., object])
_DEFAULT_LIMIT: Final = BaseUnits(10_000_000)  # 1 USDC: the maximum for --yes alone
_EPILOG: Final = (
    "Exit codes: 0 paid (or nothing to pay), 1 nothing was or can be paid, 2 wrong usage, "
    "3 not known yet whether it was paid."
)


@dataclass(frozen=True, slots=True)
class _Waits:
    """How long the command waits for the seller, and then for the ledger."""

    timeout_s: float
    ledger_s: float


@dataclass(frozen=True, slots=True)
class _PayArguments:
    wallet: Wallet
    request: SellerRequest
    preferences: BuyerPreferences
    node: NodeEndpoint
    form: CredentialForm
    max_life_s: int
    waits: _Waits


def _kept_options(function: F) -> F:
    """Add the options for payments that were sent before."""
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    look = click.option(
        "--look",
        metavar="FILE",
        type=file,
        help="Send nothing: look on the ledger for the outcome of a payment sent before.",
    )
    repeat = click.option(
        "--repeat",
        metavar="FILE",
        type=file,
        help="Send a payment again, with the very same bytes: it is never charged twice.",
    )
    folder = click.option(
        "--payments",
        "folder",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        help="Keep payments here until their outcome is known. "
        "Default: ~/.local/state/farebox/payments.",
    )
    return look(repeat(folder(function)))


def _wait_options(function: F) -> F:
    """Add the options that bound waits and lives."""
    life = click.option(
        "--max-life",
        "max_life_s",
        type=click.IntRange(min=15),
        default=MAX_LIFE_S,
        metavar="SECONDS",
        show_default=True,
        help="How long the signature is valid, at most; never longer than the seller allows.",
    )
    timeout = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=1),
        default=90.0,
        metavar="SECONDS",
        show_default=True,
        help="How long to wait for a response.",
    )
    ledger = click.option(
        "--wait",
        "wait_s",
        type=click.FloatRange(min=0),
        default=WAIT_S,
        metavar="SECONDS",
        show_default=True,
        help="How long to wait for the ledger to show the outcome.",
    )
    return life(timeout(ledger(function)))


@click.command("pay", epilog=_EPILOG)
@click.argument("url", required=False)
@click.option("--yes", is_flag=True, help="Approve the price without a prompt; needs --network.")
@click.option(
    "--max-amount",
    metavar="AMOUNT",
    help="Refuse to pay more, in token units such as 0.05 (base units for a token that is not "
    "USDC or XLM). With --yes the default is 1 USDC.",
)
@click.option(
    "--network",
    type=NetworkName(),
    help="Pay on testnet or pubnet and no other. Default: testnet; pubnet must be named.",
)
@node_options
@click.option("--asset", metavar="C…", help="Pay in this token instead of USDC.")
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A request header."
)
@click.option("-X", "--method", metavar="METHOD", help="Default: GET, or POST with --data.")
@click.option("-d", "--data", metavar="TEXT", help="The body to send.")
@wallet_option
@click.option(
    "--upgraded-auth",
    is_flag=True,
    help="Sign ADDRESS_V2 credentials; for newer facilitators only.",
)
@_wait_options
@_kept_options
@click.option("--json", "is_json", is_flag=True, help="Print one line of JSON instead of the body.")
def command(
    *,
    url: str | None,
    network: Network | None,
    rpc_url: str | None,
    rpc_authority: Path | None,
    timeout_s: float,
    wait_s: float,
    look: Path | None,
    repeat: Path | None,
    is_json: bool,
    **purchase: Any,
) -> None:
    """Fetch URL; when it costs money, show the price, ask for approval and pay once.

    The response body goes to standard output, everything else to standard error. Whether it was
    paid is read from the ledger, whatever the seller answers. Until that is known the payment is
    kept in a file: --look and --repeat take it.
    """
    waits, node = _Waits(timeout_s, wait_s), NodeAddress(rpc_url, _text_of(rpc_authority))
    if sum(each is not None for each in (url, look, repeat)) != 1:
        raise click.UsageError("Give a URL, or a payment's file with --look or --repeat.")
    if url is None:
        file, is_sent = (repeat, True) if repeat is not None else (look, False)
        _continue(file or Path(), node, waits, is_sent=is_sent, is_json=is_json)
    if network is None and rpc_url is not None:
        raise click.UsageError("--rpc-url needs --network, which names the network of the node.")
    if network is None and purchase["yes"]:
        raise click.UsageError("--yes needs --network, which names the network to pay on.")
    endpoint = node_endpoint(network or Network.TESTNET, rpc_url, rpc_authority)
    _buy(url, endpoint, node, waits, is_json=is_json, **purchase)


def _buy(
    url: str,
    endpoint: NodeEndpoint,
    node: NodeAddress,
    waits: _Waits,
    *,
    is_json: bool,
    yes: bool,
    max_amount: str | None,
    asset: str | None,
    headers: tuple[str, ...],
    method: str | None,
    data: str | None,
    wallet_path: Path | None,
    upgraded_auth: bool,
    max_life_s: int,
    folder: Path | None,
) -> NoReturn:
    token = _read_asset(asset)
    limit = _read_limit(max_amount, token, endpoint, is_approved=yes)
    arguments = _PayArguments(
        wallet=_open(wallet_path),
        request=_request(url, method, data, headers),
        preferences=BuyerPreferences((endpoint.network,), token, limit),
        node=endpoint,
        form=CredentialForm.ADDRESS_V2 if upgraded_auth else CredentialForm.ADDRESS,
        max_life_s=max_life_s,
        waits=waits,
    )
    approver = PromptingApprover(
        arguments.wallet, folder or default_folder(), node, is_approved=yes
    )
    _end(lambda: run(_pay(arguments, approver)), approver.trail, is_json=is_json)


def _continue(
    file: Path, named: NodeAddress, waits: _Waits, *, is_sent: bool, is_json: bool
) -> NoReturn:
    """Look for the outcome of a payment that was sent before, or send it again."""
    try:
        payment, kept = open_payment(file)
    except PaymentFileRefused as error:
        raise UserActionRequired(error.message) from error
    used = kept if named.rpc_url is None else named
    authority = named.authority or used.authority
    endpoint = node_endpoint(
        payment.network, used.rpc_url, None if authority is None else Path(authority)
    )
    trail = PaymentTrail(None, payment, file)
    run(_check_network(endpoint))

    async def conclude() -> Outcome:
        async with (
            endpoint.open() as rpc,
            HttpSellerClient(timeout_s=waits.timeout_s) as client,
        ):
            looker = LedgerLooker(rpc, SystemClock(), wait_s=waits.ledger_s)
            if is_sent:
                return await repeat_payment(client, payment, looker)
            return await looker.conclude(payment)

    _end(lambda: run(conclude()), trail, is_json=is_json)


async def _check_network(endpoint: NodeEndpoint) -> None:
    async with endpoint.open() as rpc:
        try:
            await check_passphrase(rpc, endpoint)
        except RpcUnavailable:  # the outcome says that the node gives no answer
            return
        except Unavailable as error:
            raise UserActionRequired(error.message) from error


def _end(work: Callable[[], Outcome], trail: PaymentTrail, *, is_json: bool) -> NoReturn:
    """Do the work, print its outcome and exit: never as refused once something was signed."""
    try:
        outcome = work()
    except KeyboardInterrupt:
        click.echo(err=True)
        outcome = broken_outcome(trail, "you interrupted it")
    except Exception as error:
        if trail.payment is None:
            raise
        traceback.print_exception(error)
        outcome = broken_outcome(trail, "the command broke off")
    is_shown = _print_outcome(outcome, trail, is_json=is_json)
    if trail.file is not None and is_over(outcome) and is_shown:
        trail.file.unlink(missing_ok=True)
    sys.exit(exit_code(outcome))


async def _pay(arguments: _PayArguments, approver: PromptingApprover) -> Outcome:
    node = arguments.node
    async with AsyncExitStack() as stack:
        client = HttpSellerClient(timeout_s=arguments.waits.timeout_s)
        await stack.enter_async_context(client)
        rpc = CheckedNode(await stack.enter_async_context(node.open()), node)
        buyer = Buyer(
            arguments.wallet,
            client,
            {node.network: rpc},
            form=arguments.form,
            max_life_s=arguments.max_life_s,
            wait_s=arguments.waits.ledger_s,
        )
        return await buyer.pay(arguments.request, arguments.preferences, approver)


def _print_outcome(outcome: Outcome, trail: PaymentTrail, *, is_json: bool) -> bool:
    """Print the outcome; whether all of it was taken."""
    is_shown = all(_echo(line, is_error=True) for line in describe(outcome, trail.file))
    response = response_of(outcome)
    if is_json:
        return _echo(outcome_json(outcome, trail)) and is_shown
    if response is not None:
        needs_newline = sys.stdout.isatty() and not response.body.endswith(b"\n")
        return _echo(response.body, needs_newline=needs_newline) and is_shown
    return is_shown


def _echo(text: str | bytes, *, is_error: bool = False, needs_newline: bool = True) -> bool:
    """Print; False where the reader has left or the disk is full, which changes no outcome."""
    try:
        click.echo(text, err=is_error, nl=needs_newline)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2 if is_error else 1)  # for the flush at exit
        return False
    return True


def _open(path: Path | None) -> Wallet:
    try:
        return open_wallet(path or default_path())
    except Refusal as error:
        raise UserActionRequired(error.message) from error


def _text_of(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _read_asset(text: str | None) -> Address | None:
    if text is None:
        return None
    address = parse_contract(text)
    if address is None:
        raise click.BadParameter("name a token's contract address (C…)", param_hint="--asset")
    return address


def _read_limit(
    text: str | None, asset: Address | None, node: NodeEndpoint, *, is_approved: bool
) -> BaseUnits | None:
    is_known = asset is None or find_token(node.network, asset) is not None
    if text is None:
        if is_approved and asset is not None:
            raise click.UsageError("--yes with --asset needs --max-amount.")
        return _DEFAULT_LIMIT if is_approved else None
    limit = parse_units(text) if is_known else parse_units(text, decimals=0)
    if limit is None:
        raise click.BadParameter("give an amount such as 0.05", param_hint="--max-amount")
    return limit


def _request(
    url: str, method: str | None, data: str | None, headers: tuple[str, ...]
) -> SellerRequest:
    fields = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(c in header for c in "\r\n\0"):
            raise click.BadParameter("write it as 'Name: value'", param_hint="--header")
        fields[name.strip()] = value.strip()
    verb = method or ("GET" if data is None else "POST")
    return SellerRequest(url, verb.upper(), fields, None if data is None else data.encode())
