"""Deploy the web-auth contract (SEP-45) and create the account that signs challenges.

Safe to repeat and to interrupt: entries that are on the ledger already are left as they are.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.account_operations import create_sponsored
from farebox.stellar.contract_deployment import (
    ContractDeployment,
    ContractDraft,
    TransactionParameters,
)
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.contract_operations import contract_of
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import SignedTransaction

_SALT: Final = hashlib.sha256(b"farebox web-auth contract").digest()


@dataclass(frozen=True, slots=True)
class DeployedContract:
    """The deployed contract."""

    contract: Address
    existed: bool  # the contract, and the signing account if there is one
    live_until_ledger: int | None  # the last one before the contract is archived; None: unknown


def deployed_address(network: Network, payer: Address) -> Address:
    """The address of the contract that this account deploys, before or after it does."""
    return contract_of(network, payer, _SALT)


class WebAuthDeployment:
    """Deploys the contract, and creates the account that signs challenges."""

    def __init__(self, contracts: ContractDeployment) -> None:
        self._contracts = contracts

    async def deploy(self, signer: SigningAccount | None) -> DeployedContract:
        """Deploy the contract and create the account that signs challenges, where missing.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the node is unavailable; completed steps stay.
        """
        wasm = (files("farebox.accounts") / "web_auth.wasm").read_bytes()
        draft = ContractDraft("contract", wasm, _SALT)
        contract, was_made = await self._contracts.create(draft)
        existed = not was_made
        if signer is not None and not await self._contracts.exists(account_key(signer.address)):
            existed = False
            await self._create(signer)
        live_until = await self._contracts.live_until(instance_key(contract))
        return DeployedContract(contract, existed, live_until)

    async def _create(self, signer: SigningAccount) -> None:
        contracts, action = self._contracts, "create the account that signs challenges"
        contracts.report(action)

        def make(parameters: TransactionParameters) -> SignedTransaction:
            return create_sponsored(
                contracts.network,
                contracts.source,
                [signer],
                sequence=parameters.sequence,
                inclusion_fee=parameters.inclusion_fee,
                max_time=parameters.max_time,
            )

        await contracts.sender.land(contracts.source.address, make, action=action)
        await contracts.wait_for(account_key(signer.address))
