"""`farebox auth`: what signing in needs on the networks themselves."""

import os
from pathlib import Path

import click

from farebox.accounts.deploy_web_auth import Deployed
from farebox.app.auth_tools import AuthTools, auth_tools
from farebox.app.settings import NetworkSettings, Settings
from farebox.buyer.wallet import open_wallet
from farebox.cli.endings import settings_or_end
from farebox.cli.networks import NetworkName
from farebox.cli.operating import configured, run_sending
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.signers import Relayer, read_signers


@click.group("auth")
def command() -> None:
    """Set up signing in with contract accounts.

    Configured like serve: FAREBOX_* variables and the file that FAREBOX_CONFIG names.
    """


@command.command("deploy")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@click.option(
    "--source",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A wallet file whose account pays in place of the relayer.",
)
def deploy(network: Network, source: Path | None) -> None:
    """Put the web-auth contract on a network and print the setting that names it.

    The account of FAREBOX_AUTH_SIGNING_SECRET has to be on the network too: it is made where it is
    missing, with 1 XLM of reserve that whoever pays sponsors. Safe to repeat: what is there is left
    as it is. Exit code 3: a transaction may still land; repeat the command.
    """
    settings = settings_or_end(os.environ, is_to_serve=False)
    deployed = _deploy(settings, configured(settings, network), source)
    if settings.sign_in.signing_secret is None:
        _tell("set FAREBOX_AUTH_SIGNING_SECRET and repeat this: its account must be there too")
    if deployed.was_there:
        _tell("everything was there already")
    if deployed.live_until_ledger is not None:
        _tell(f"the contract is kept until ledger {deployed.live_until_ledger}, then archived")
    click.echo(f"FAREBOX_WEB_AUTH_CONTRACT_{network.label.upper()}={deployed.contract}")


def _deploy(settings: Settings, own: NetworkSettings, source: Path | None) -> Deployed:
    sent: list[AuthTools] = []

    def on_its_way() -> str | None:
        return sent[0].ledger.on_its_way if sent else None

    async def opened() -> Deployed:
        payer, signer = _payer(own, source), _signer(settings)
        async with auth_tools(settings, own, payer, _tell) as tools:
            sent.append(tools)
            await tools.ledger.check_node()
            return await tools.deployment.deploy(signer)

    return run_sending(opened(), on_its_way, refusals=Refusal)


def _payer(own: NetworkSettings, source: Path | None) -> Relayer:
    if source is None:
        return read_signers(own.relayer_secret, own.paymaster_secret).relayer
    return read_signers(open_wallet(source).seed, None).relayer


def _signer(settings: Settings) -> Relayer | None:
    secret = settings.sign_in.signing_secret
    return None if secret is None else read_signers(secret, None).relayer


def _tell(line: str) -> None:
    click.echo(f"auth: {line}", err=True)
