"""Deploys the contracts that sessions and mandates are made of; safe to repeat."""

import hashlib
from dataclasses import dataclass

from farebox.automation.sessions.contract_codes import (
    ServiceContract,
    pinned_hash,
    read_code,
)
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.contract_deployment import ContractDeployment, ContractDraft
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.contract_operations import contract_of
from farebox.stellar.scval import ScBytes, ScKind

DEPLOYED = (
    ServiceContract.GUARD,
    ServiceContract.VERIFIER,
    ServiceContract.INSTALLER,
    ServiceContract.FACTORY,
)


@dataclass(frozen=True, slots=True)
class DeployedContracts:
    """The contracts, whether all of them were there, and the first ledger that archives one."""

    contracts: dict[ServiceContract, Address]
    existed: bool
    live_until_ledger: int | None


def contract_at(network: Network, payer: Address, contract: ServiceContract) -> Address:
    """The address of a contract of this code that this account deploys, before or after it does."""
    return contract_of(network, payer, _salt(contract))


async def deploy_contracts(deployment: ContractDeployment) -> DeployedContracts:
    """Upload the codes and create the contracts that are missing.

    Raises:
        Refusal: the network refuses a transaction.
        Outage: the node is unavailable; completed steps stay.
    """
    was_made = await upload_mandate(deployment)
    contracts, ends = {}, []
    for contract in DEPLOYED:
        contracts[contract], is_new = await deploy_contract(deployment, contract)
        was_made = was_made or is_new
        ends.append(await deployment.live_until(instance_key(contracts[contract])))
    known = [each for each in ends if each is not None]
    return DeployedContracts(contracts, not was_made, min(known, default=None))


async def upload_mandate(deployment: ContractDeployment) -> bool:
    """Upload the code of which the factory makes mandates; whether it was missing.

    Raises:
        Refusal, Outage: as `deploy_contracts`.
    """
    return await deployment.upload(read_code(ServiceContract.MANDATE), "mandate")


async def deploy_contract(
    deployment: ContractDeployment, contract: ServiceContract
) -> tuple[Address, bool]:
    """Create one of `DEPLOYED` and upload its code where they are missing; whether it was.

    Raises:
        Refusal, Outage: as `deploy_contracts`.
    """
    name, code = contract.replace("_", " "), read_code(contract)
    draft = ContractDraft(name, code, _salt(contract), _arguments(contract))
    return await deployment.create(draft)


def _arguments(contract: ServiceContract) -> tuple[ScBytes, ...]:
    """Of the constructor: the factory has the hash of the mandate's code, for ever."""
    if contract is not ServiceContract.FACTORY:
        return ()
    return (ScBytes(ScKind.BYTES, pinned_hash(ServiceContract.MANDATE)),)


def _salt(contract: ServiceContract) -> bytes:
    """Another one for each code, since nobody can exchange the code of a contract."""
    made = pinned_hash(ServiceContract.MANDATE) if contract is ServiceContract.FACTORY else b""
    named = f"farebox automation {contract}".encode()
    return hashlib.sha256(named + pinned_hash(contract) + made).digest()
