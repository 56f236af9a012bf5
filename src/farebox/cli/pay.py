"""`farebox pay`: fetch a URL, and pay for it when it costs money."""

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import click

from farebox.buyer.authorization import CredentialForm
from farebox.buyer.choose import Wishes
from farebox.buyer.outcome import Outcome
from farebox.buyer.pay import Buyer
from farebox.buyer.tokens import find_token, parse_units
from farebox.buyer.wallet import Wallet, default_path, open_wallet
from farebox.buyer.web import HttpWeb, WebRequest
from farebox.cli.endings import MustChange
from farebox.cli.networks import (
    FollowedNode,
    NetworkName,
    Reach,
    node_options,
    reach_of,
    wallet_option,
)
from farebox.cli.paying import AskingPurse, Report, answer_of, describe, exit_code, interrupted
from farebox.cli.running import run
from farebox.kernel.addresses import Address, parse_contract
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network

_UNSEEN_LIMIT: Final = BaseUnits(10_000_000)  # 1 USDC: the most that --yes alone agrees to
_EPILOG: Final = (
    "Exit codes: 0 paid (or nothing to pay), 1 refused or failed, 2 wrong usage, "
    "3 nobody can say yet whether it was paid."
)


@dataclass(frozen=True, slots=True)
class _Errand:
    wallet: Wallet
    request: WebRequest
    wishes: Wishes
    reaches: tuple[Reach, ...]
    form: CredentialForm
    timeout_s: float


@click.command("pay", epilog=_EPILOG)
@click.argument("url")
@click.option("--yes", is_flag=True, help="Agree to the price without being asked.")
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
    "-H", "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send it too."
)
@click.option("-X", "--method", metavar="METHOD", help="Default: GET, or POST with --data.")
@click.option("-d", "--data", metavar="TEXT", help="The body to send.")
@wallet_option
@click.option(
    "--upgraded-auth", is_flag=True, help="Sign ADDRESS_V2 credentials; newer facilitators only."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=1),
    default=90.0,
    metavar="SECONDS",
    show_default=True,
    help="How long to wait for an answer.",
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
    """Fetch URL; when it costs money, show the price, ask, and pay for it once.

    The answer's body goes to standard output, everything else to standard error. A payment whose
    answer is lost is never repeated: it is reported with what is needed to look it up.
    """
    token = _read_asset(asset)
    reaches = _reaches(network, rpc_url, rpc_authority)
    limit = _read_limit(max_amount, token, reaches, is_unseen=yes)
    errand = _Errand(
        wallet=_open(wallet_path),
        request=_request(url, method, data, headers),
        wishes=Wishes(tuple(reach.network for reach in reaches), token, limit),
        reaches=reaches,
        form=CredentialForm.ADDRESS_V2 if upgraded_auth else CredentialForm.ADDRESS,
        timeout_s=timeout_s,
    )
    _run(errand, AskingPurse(errand.wallet, is_agreed=yes), is_json=is_json)


def _run(errand: _Errand, purse: AskingPurse, *, is_json: bool) -> NoReturn:
    try:
        outcome = run(_pay(errand, purse))
    except KeyboardInterrupt:
        click.echo(err=True)
        outcome = interrupted(purse)
    _tell(outcome, purse, is_json=is_json)
    sys.exit(exit_code(outcome))


async def _pay(errand: _Errand, purse: AskingPurse) -> Outcome:
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(HttpWeb(timeout_s=errand.timeout_s))
        nodes = {
            reach.network: FollowedNode(await stack.enter_async_context(reach.open()), reach)
            for reach in errand.reaches
        }
        buyer = Buyer(errand.wallet, web, nodes, form=errand.form)
        return await buyer.pay(errand.request, errand.wishes, purse)


def _tell(outcome: Outcome, purse: AskingPurse, *, is_json: bool) -> None:
    for line in describe(outcome):
        click.echo(line, err=True)
    answer = answer_of(outcome)
    if is_json:
        click.echo(Report(outcome, purse).line())
    elif answer is not None:
        is_bare = sys.stdout.isatty() and not answer.body.endswith(b"\n")
        click.echo(answer.body, nl=is_bare)


def _open(path: Path | None) -> Wallet:
    try:
        return open_wallet(path or default_path())
    except Refusal as error:
        raise MustChange(error.message) from error


def _reaches(
    network: Network | None, rpc_url: str | None, authority: Path | None
) -> tuple[Reach, ...]:
    if network is not None:
        return (reach_of(network, rpc_url, authority),)
    if rpc_url is not None:
        raise click.UsageError("--rpc-url needs --network, so that it is clear whose node it is.")
    found = []
    for each in Network:
        try:
            found.append(reach_of(each, None, authority))
        except MustChange:  # a network without a node is one that cannot be paid on
            continue
    return tuple(found)


def _read_asset(text: str | None) -> Address | None:
    if text is None:
        return None
    address = parse_contract(text)
    if address is None:
        raise click.BadParameter("name a token's contract address (C…)", param_hint="--asset")
    return address


def _read_limit(
    text: str | None, asset: Address | None, reaches: tuple[Reach, ...], *, is_unseen: bool
) -> BaseUnits | None:
    is_known = asset is None or any(find_token(each.network, asset) for each in reaches)
    if text is None:
        if is_unseen and asset is not None:
            raise click.UsageError("--yes with --asset needs --max-amount.")
        return _UNSEEN_LIMIT if is_unseen else None
    limit = parse_units(text) if is_known else parse_units(text, decimals=0)
    if limit is None:
        raise click.BadParameter("give an amount such as 0.05", param_hint="--max-amount")
    return limit


def _request(
    url: str, method: str | None, data: str | None, headers: tuple[str, ...]
) -> WebRequest:
    read = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(c in header for c in "\r\n\0"):
            raise click.BadParameter("write it as 'Name: value'", param_hint="--header")
        read[name.strip()] = value.strip()
    named = method or ("GET" if data is None else "POST")
    return WebRequest(url, named.upper(), read, None if data is None else data.encode())
