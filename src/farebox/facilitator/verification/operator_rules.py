"""The operator's rules for payments on one network."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from farebox.stellar.fees import FeePolicy


class AssetRule(StrEnum):
    """The kinds of tokens that are settled."""

    ASSET_CONTRACTS = "asset-contracts"  # Stellar Asset Contracts only
    ANY = "any"  # every contract; a token outside the asset contracts is marked unverified


AssetPolicy = AssetRule | frozenset[Address]  # a set lists every token that is settled


def named_assets(policy: AssetPolicy, network: Network) -> frozenset[Address]:
    """The assets with a budget of their own: those of a list; without a list, USDC only."""
    return policy if isinstance(policy, frozenset) else frozenset({usdc_contract(network)})


@dataclass(frozen=True, slots=True)
class OperatorRules:
    """The settings of one network that a verdict depends on."""

    network: Network
    relayer: Address
    assets: AssetPolicy
    fees: FeePolicy
    expiry_tolerance_ledgers: int
    min_life_ledgers: int
    transaction_life_s: int
