"""What the operator allows on one network: the rules a payment is held against."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy


class AssetRule(StrEnum):
    """Which tokens are settled at all."""

    ASSET_CONTRACTS = "asset-contracts"  # Stellar Asset Contracts only
    ANY = "any"  # every contract; one that is no asset contract is marked unverified


AssetPolicy = AssetRule | frozenset[Address]  # a set names every token that is settled


@dataclass(frozen=True, slots=True)
class OperatorRules:
    """One network's settings that bear on a verdict."""

    network: Network
    relayer: Address
    assets: AssetPolicy
    fees: FeePolicy
    expiry_tolerance_ledgers: int
    min_life_ledgers: int
    transaction_life_s: int
