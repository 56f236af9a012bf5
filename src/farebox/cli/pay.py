"""`farebox pay`: fetch a URL, and pay for it when the seller requires a payment."""

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import click

from farebox.buyer.authorization import CredentialForm
from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.outcome import Outcome
from farebox.buyer.pay import Buyer
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest
from farebox.buyer.wallet import Wallet, default_path, open_wallet
from farebox.cli.exits import UserActionRequired, run
from farebox.cli.networks import (
    CheckedNode,
    NetworkName,
    NodeEndpoint,
    node_endpoint,
    node_options,
    wallet_option,
)
from farebox.cli.paying import (
    PromptingApprover,
    describe,
    exit_code,
    interrupted_outcome,
    outcome_json,
    response_of,
)
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import find_token, parse_units

_DEFAULT_LIMIT: Final = BaseUnits(10_000_000)  # 1 USDC: the maximum for --yes alone
_EPILOG: Final = (
    "Exit codes: 0 paid (or nothing to pay), 1 refused or failed, 2 wrong usage, "
    "3 not known yet whether it was paid."
)


@dataclass(frozen=True, slots=True)
class _PayArguments:
    wallet: Wallet
    request: SellerRequest
    preferences: BuyerPreferences
    nodes: tuple[NodeEndpoint, ...]
    form: CredentialForm
    timeout_s: float


@click.command("pay", epilog=_EPILOG)
@click.argument("url")
@click.option("--yes", is_flag=True, help="Approve the price without a prompt.")
@click.option(
    "--max-amount",
    metavar="AMOUNT",
    help="Refuse to pay more, in token units such as 0.05 (base units for a token that is not "
    "USDC or XLM). With --yes the default is 1 USDC.",
)
@click.option("--network", type=NetworkName(), help="Pay on testnet or pubnet and no other.")
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
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=1),
    default=90.0,
    metavar="SECONDS",
    show_default=True,
    help="How long to wait for a response.",
)
@click.option("--json", "is_json", is_flag=True, help="Print one line of JSON instead of the body.")
def command(
    *,
    url: str,
    yes: bool,
    max_amount: str | None,
    network: Network | None,
    rpc_url: str | None,
    rpc_authority: Path | None,
    asset: str | None,
    headers: tuple[str, ...],
    method: str | None,
    data: str | None,
    wallet_path: Path | None,
    upgraded_auth: bool,
    timeout_s: float,
    is_json: bool,
) -> None:
    """Fetch URL; when it costs money, show the price, ask for approval and pay once.

    The response body goes to standard output, everything else to standard error. A payment whose
    response is lost is never repeated; it is reported with its transaction or nonce.
    """
    token = _read_asset(asset)
    nodes = _node_endpoints(network, rpc_url, rpc_authority)
    limit = _read_limit(max_amount, token, nodes, is_approved=yes)
    arguments = _PayArguments(
        wallet=_open(wallet_path),
        request=_request(url, method, data, headers),
        preferences=BuyerPreferences(tuple(node.network for node in nodes), token, limit),
        nodes=nodes,
        form=CredentialForm.ADDRESS_V2 if upgraded_auth else CredentialForm.ADDRESS,
        timeout_s=timeout_s,
    )
    _run(arguments, PromptingApprover(arguments.wallet, is_approved=yes), is_json=is_json)


def _run(arguments: _PayArguments, approver: PromptingApprover, *, is_json: bool) -> NoReturn:
    try:
        outcome = run(_pay(arguments, approver))
    except KeyboardInterrupt:
        click.echo(err=True)
        outcome = interrupted_outcome(approver)
    _print_outcome(outcome, approver, is_json=is_json)
    sys.exit(exit_code(outcome))


async def _pay(arguments: _PayArguments, approver: PromptingApprover) -> Outcome:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(HttpSellerClient(timeout_s=arguments.timeout_s))
        nodes = {
            node.network: CheckedNode(await stack.enter_async_context(node.open()), node)
            for node in arguments.nodes
        }
        buyer = Buyer(arguments.wallet, client, nodes, form=arguments.form)
        return await buyer.pay(arguments.request, arguments.preferences, approver)


def _print_outcome(outcome: Outcome, approver: PromptingApprover, *, is_json: bool) -> None:
    for line in describe(outcome):
        click.echo(line, err=True)
    response = response_of(outcome)
    if is_json:
        click.echo(outcome_json(outcome, approver))
    elif response is not None:
        needs_newline = sys.stdout.isatty() and not response.body.endswith(b"\n")
        click.echo(response.body, nl=needs_newline)


def _open(path: Path | None) -> Wallet:
    try:
        return open_wallet(path or default_path())
    except Refusal as error:
        raise UserActionRequired(error.message) from error


def _node_endpoints(
    network: Network | None, rpc_url: str | None, authority: Path | None
) -> tuple[NodeEndpoint, ...]:
    if network is not None:
        return (node_endpoint(network, rpc_url, authority),)
    if rpc_url is not None:
        raise click.UsageError("--rpc-url needs --network, which names the network of the node.")
    nodes = []
    for each in Network:
        try:
            nodes.append(node_endpoint(each, None, authority))
        except UserActionRequired:  # networks without a node are left out
            continue
    return tuple(nodes)


def _read_asset(text: str | None) -> Address | None:
    if text is None:
        return None
    address = parse_contract(text)
    if address is None:
        raise click.BadParameter("name a token's contract address (C…)", param_hint="--asset")
    return address


def _read_limit(
    text: str | None, asset: Address | None, nodes: tuple[NodeEndpoint, ...], *, is_approved: bool
) -> BaseUnits | None:
    is_known = asset is None or any(find_token(each.network, asset) for each in nodes)
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
