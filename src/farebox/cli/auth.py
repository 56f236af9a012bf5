"""`farebox auth`: deploy the web-auth contract and create the signing account."""

import os
from pathlib import Path

import click

from farebox.accounts.deploy_web_auth import DeployedContract
from farebox.app.auth_tools import AuthTools, auth_tools
from farebox.app.settings import NetworkSettings, Settings
from farebox.cli.exits import load_settings
from farebox.cli.networks import NetworkName
from farebox.cli.operator_commands import configured_network, read_payer, run_sending
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.signers import SigningAccount, read_signers


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
    help="A wallet file whose account pays instead of the relayer.",
)
def deploy(network: Network, source: Path | None) -> None:
    """Deploy the web-auth contract on a network and print its setting.

    Creates the account of FAREBOX_AUTH_SIGNING_SECRET too where it is missing; the payer sponsors
    its reserve of 1 XLM. Safe to repeat. Exit code 3: a transaction may still take effect; repeat
    the command.
    """
    settings = load_settings(os.environ, is_to_serve=False)
    deployed = _deploy(settings, configured_network(settings, network), source)
    if settings.sign_in.signing_secret is None:
        _print("set FAREBOX_AUTH_SIGNING_SECRET and repeat the command, which creates its account")
    if deployed.existed:
        _print("nothing to do: the contract and the account exist")
    if deployed.live_until_ledger is not None:
        _print(f"the contract is archived after ledger {deployed.live_until_ledger}")
    click.echo(f"FAREBOX_WEB_AUTH_CONTRACT_{network.label.upper()}={deployed.contract}")


def _deploy(settings: Settings, own: NetworkSettings, source: Path | None) -> DeployedContract:
    opened: list[AuthTools] = []

    def unresolved() -> str | None:
        return opened[0].ledger.unresolved if opened else None

    async def work() -> DeployedContract:
        payer, signer = read_payer(own, source), _signer(settings)
        async with auth_tools(settings, own, payer, _print) as tools:
            opened.append(tools)
            await tools.ledger.check_node()
            return await tools.deployment.deploy(signer)

    return run_sending(work(), unresolved, user_faults=Refusal)


def _signer(settings: Settings) -> SigningAccount | None:
    secret = settings.sign_in.signing_secret
    return None if secret is None else read_signers(secret, None).relayer


def _print(line: str) -> None:
    click.echo(f"auth: {line}", err=True)
