"""Read a wallet's balances on one network, and fund it."""

from dataclasses import dataclass
from typing import Final

from stellar_sdk import Account, Asset, TransactionBuilder

from farebox.buyer.seller_client import SellerClient, SellerRequest
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.errors import CommandRefused
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import USDC_CODE, USDC_ISSUERS
from farebox.stellar.known_tokens import format_units
from farebox.stellar.rpc import (
    LedgerStatus,
    SendStatus,
    TransactionFound,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.trustline import read_trustline, trustline_key

_FEE: Final = 10_000  # stroops an operation, at most
_POLL_S: Final = 0.25
_TIMEOUT_S: Final = 60.0
_LIFE_S: Final = 45


class FundingRefused(CommandRefused):
    """The wallet could not be funded; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Balances; `native` None without an account, `usdc` None without a trustline."""

    native: Stroops | None
    usdc: BaseUnits | None


@dataclass(frozen=True, slots=True)
class UsdcFunding:
    """A payment of USDC to a new wallet."""

    source: Wallet
    amount: BaseUnits


async def read_holdings(node: SorobanRpc, network: Network, address: Address) -> Holdings:
    """Read the balances of `address` in the node's latest ledger.

    Raises:
        RpcUnavailable: the node is unavailable.
    """
    account = await node.account(address)
    if account is None:
        return Holdings(None, None)
    key = trustline_key(address, code=USDC_CODE, issuer=USDC_ISSUERS[network])
    entries = (await node.ledger_entries([key])).entries
    line = read_trustline(entries[0].data, key) if entries else None
    return Holdings(account.balance, None if line is None else line.balance)


def _usdc(network: Network) -> Asset:
    return Asset(USDC_CODE, USDC_ISSUERS[network])


class WalletFunder:
    """Funds a wallet on one network: coins from a friendbot, and a trustline for USDC."""

    def __init__(
        self, node: SorobanRpc, client: SellerClient, clock: Clock, network: Network
    ) -> None:
        self._node, self._client, self._clock, self._network = node, client, clock, network

    async def fund_from_friendbot(self, address: Address, friendbot_url: str) -> None:
        """Create the account through a friendbot, unless it exists.

        Raises:
            FundingRefused: the friendbot refuses, or the account does not appear.
            SellerUnavailable: the friendbot does not answer.
        """
        if await self._node.account(address) is not None:
            return
        response = await self._client.send(SellerRequest(f"{friendbot_url}?addr={address}"))
        if response.status >= 400 and await self._node.account(address) is None:
            raise FundingRefused(
                f"The friendbot answered {response.status} and created no account."
            )
        deadline = self._clock.monotonic() + _TIMEOUT_S
        while await self._node.account(address) is None:
            if self._clock.monotonic() > deadline:
                raise FundingRefused("The friendbot's account does not appear on the ledger.")
            await self._clock.sleep(_POLL_S)

    async def ensure_usdc_trustline(
        self, wallet: Wallet, funding: UsdcFunding | None = None
    ) -> str | None:
        """Create the wallet's trustline for USDC and pay the funding, in one transaction.

        Returns the transaction's hash; None when there is nothing to do.

        Raises:
            FundingRefused: the transaction failed or did not appear on the ledger.
        """
        account = await self._node.account(wallet.address)
        if account is None:
            raise FundingRefused(
                "The account does not exist yet: create it with a friendbot first."
            )
        holdings = await read_holdings(self._node, self._network, wallet.address)
        if holdings.usdc is not None and funding is None:
            return None
        source = Account(wallet.address, account.sequence)
        builder = TransactionBuilder(source, self._network.passphrase, _FEE)
        if holdings.usdc is None:
            builder.append_change_trust_op(_usdc(self._network))
        if funding is not None:
            units = format_units(funding.amount)
            builder.append_payment_op(
                wallet.address, _usdc(self._network), units, source=funding.source.address
            )
        until = int(self._clock.now().timestamp()) + _LIFE_S
        envelope = builder.add_time_bounds(0, until).build()
        for signer in (wallet, funding.source) if funding is not None else (wallet,):
            envelope.sign(signer.keypair())
        return await self._land(envelope.to_xdr(), envelope.hash_hex())

    async def _land(self, envelope: str, tx_hash: str) -> str:
        result = await self._node.send(envelope)
        if result.status is not SendStatus.PENDING:
            code = result.result_code or result.status.value
            raise FundingRefused(f"The network refused the transaction: {code}.")
        deadline = self._clock.monotonic() + _TIMEOUT_S
        while True:
            transaction = await self._node.get_transaction(tx_hash)
            if isinstance(transaction, TransactionFound):
                if transaction.status is LedgerStatus.SUCCESS:
                    return tx_hash
                raise FundingRefused(f"Transaction {tx_hash} failed: {transaction.result_code}.")
            if self._clock.monotonic() > deadline:
                raise FundingRefused(f"Transaction {tx_hash} did not appear on the ledger.")
            await self._clock.sleep(_POLL_S)
