"""`farebox automation deploy`: put the contracts of sessions and mandates on a network."""

import os
from pathlib import Path

import click

from farebox.app.auth_tools import contract_tools
from farebox.app.settings import NetworkSettings, Settings
from farebox.automation.sessions.deploy_contracts import DeployedContracts, deploy_contracts
from farebox.cli.exits import load_settings
from farebox.cli.networks import NetworkName
from farebox.cli.operator_commands import configured_network, read_payer, run_sending
from farebox.facilitator.channels.operator_ledger import OperatorLedger
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network


@click.command("deploy")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@click.option(
    "--source",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A wallet file whose account pays instead of the relayer.",
)
def deploy(network: Network, source: Path | None) -> None:
    """Deploy the contracts of sessions and mandates on a network and print their settings.

    No audit has seen these contracts. Safe to repeat. Exit code 3: a transaction may still take
    effect; repeat the command.
    """
    settings = load_settings(os.environ, is_to_serve=False)
    deployed = _deploy(settings, configured_network(settings, network), source)
    if deployed.existed:
        _print("nothing to do: the contracts exist")
    if deployed.live_until_ledger is not None:
        _print(f"the first contract is archived after ledger {deployed.live_until_ledger}")
    for contract, address in deployed.contracts.items():
        click.echo(f"FAREBOX_{contract.setting}_{network.label.upper()}={address}")


def _deploy(settings: Settings, own: NetworkSettings, source: Path | None) -> DeployedContracts:
    opened: list[OperatorLedger] = []

    def unresolved() -> str | None:
        return opened[0].unresolved if opened else None

    async def work() -> DeployedContracts:
        payer = read_payer(own, source)
        async with contract_tools(settings, own, payer, _print) as (deployment, ledger):
            opened.append(ledger)
            await ledger.check_node()
            return await deploy_contracts(deployment)

    return run_sending(work(), unresolved, user_faults=Refusal)


def _print(line: str) -> None:
    click.echo(f"automation: {line}", err=True)
