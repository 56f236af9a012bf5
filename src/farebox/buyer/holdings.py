"""What a wallet holds on one network, and making it ready to hold USDC."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from stellar_sdk import Account, Asset, Keypair, TransactionBuilder
from stellar_sdk import xdr as stellar_xdr

from farebox.buyer.tokens import USDC, format_units
from farebox.buyer.wallet import Wallet
from farebox.buyer.web import Web, WebRequest
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.rpc import (
    AccountState,
    LedgerEntries,
    LedgerStatus,
    SendAnswer,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)

_FEE: Final = 10_000  # stroops an operation, at most
_POLL_S: Final = 0.25
_LANDS_WITHIN_S: Final = 60.0
_LIFE_S: Final = 45


class FundingRefused(Refusal):
    """The wallet could not be made ready; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__("funding_refused", message)


class Node(Protocol):
    """What funding asks of the network."""

    async def account(self, address: Address) -> AccountState | None:
        """The account; None when it does not exist."""
        ...

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries found under `keys`."""
        ...

    async def send(self, envelope: str) -> SendAnswer:
        """Hand a signed envelope to the network."""
        ...

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Look for a transaction."""
        ...


@dataclass(frozen=True, slots=True)
class Holdings:
    """Balances; `native` None without an account, `usdc` None without a trustline."""

    native: Stroops | None
    usdc: BaseUnits | None


@dataclass(frozen=True, slots=True)
class Gift:
    """USDC that somebody hands to a new wallet."""

    giver: Wallet
    amount: BaseUnits


async def read_holdings(node: Node, network: Network, address: Address) -> Holdings:
    """What `address` holds as of the node's newest ledger.

    Raises:
        RpcUnavailable: the network cannot be asked.
    """
    account = await node.account(address)
    if account is None:
        return Holdings(None, None)
    key = _trustline_key(network, address)
    found = (await node.ledger_entries([key])).entries
    if not found:
        return Holdings(account.balance, None)
    line = stellar_xdr.LedgerEntryData.from_xdr_bytes(found[0].data).trust_line
    return Holdings(account.balance, BaseUnits(line.balance.int64) if line else None)


def _usdc(network: Network) -> Asset:
    return Asset("USDC", USDC[network].issuer)


def _trustline_key(network: Network, address: Address) -> bytes:
    return stellar_xdr.LedgerKey(
        stellar_xdr.LedgerEntryType.TRUSTLINE,
        trust_line=stellar_xdr.LedgerKeyTrustLine(
            Keypair.from_public_key(address).xdr_account_id(),
            _usdc(network).to_trust_line_asset_xdr_object(),
        ),
    ).to_xdr_bytes()


class Funder:
    """Makes a wallet ready on one network: coins from a friendbot, and a trustline for USDC."""

    def __init__(self, node: Node, web: Web, clock: Clock, network: Network) -> None:
        self._node, self._web, self._clock, self._network = node, web, clock, network

    async def ask_friendbot(self, address: Address, friendbot_url: str) -> None:
        """The account exists; one that did before is left as it is.

        Raises:
            FundingRefused: the friendbot does not give, or the account does not appear.
            SellerAway: the friendbot does not answer.
        """
        if await self._node.account(address) is not None:
            return
        answer = await self._web.send(WebRequest(f"{friendbot_url}?addr={address}"))
        if answer.status >= 400 and await self._node.account(address) is None:
            raise FundingRefused(f"The friendbot answered {answer.status} and gave nothing.")
        deadline = self._clock.monotonic() + _LANDS_WITHIN_S
        while await self._node.account(address) is None:
            if self._clock.monotonic() > deadline:
                raise FundingRefused("The friendbot's account does not appear on the ledger.")
            await self._clock.sleep(_POLL_S)

    async def trust_usdc(self, wallet: Wallet, gift: Gift | None = None) -> str | None:
        """The wallet has a trustline for USDC and holds the gift; all in one transaction.

        Returns the transaction's hash; None when there was nothing to do.

        Raises:
            FundingRefused: the transaction failed or was not seen to land.
        """
        account = await self._node.account(wallet.address)
        if account is None:
            raise FundingRefused("The account does not exist yet: ask a friendbot first.")
        held = await read_holdings(self._node, self._network, wallet.address)
        if held.usdc is not None and gift is None:
            return None
        source = Account(wallet.address, account.sequence)
        builder = TransactionBuilder(source, self._network.passphrase, _FEE)
        if held.usdc is None:
            builder.append_change_trust_op(_usdc(self._network))
        if gift is not None:
            units = format_units(gift.amount)
            builder.append_payment_op(
                wallet.address, _usdc(self._network), units, source=gift.giver.address
            )
        until = int(self._clock.now().timestamp()) + _LIFE_S
        envelope = builder.add_time_bounds(0, until).build()
        for signer in (wallet, gift.giver) if gift is not None else (wallet,):
            envelope.sign(signer.keypair())
        return await self._land(envelope.to_xdr(), envelope.hash_hex())

    async def _land(self, envelope: str, tx_hash: str) -> str:
        answer = await self._node.send(envelope)
        if answer.status is not SendStatus.PENDING:
            code = answer.result_code or answer.status.value
            raise FundingRefused(f"The network did not take the transaction: {code}.")
        deadline = self._clock.monotonic() + _LANDS_WITHIN_S
        while True:
            found = await self._node.get_transaction(tx_hash)
            if isinstance(found, TransactionFound):
                if found.status is LedgerStatus.SUCCESS:
                    return tx_hash
                raise FundingRefused(f"Transaction {tx_hash} failed: {found.result_code}.")
            if self._clock.monotonic() > deadline:
                raise FundingRefused(f"Transaction {tx_hash} was not seen to land.")
            await self._clock.sleep(_POLL_S)
