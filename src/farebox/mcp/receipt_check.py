"""Check an outsider's receipt: its transaction counts only where a node shows the payment in it."""

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from farebox.kernel.networks import Network, parse_network
from farebox.kernel.secret import Secret
from farebox.mcp.call_response import ReceiptFault, is_settled
from farebox.stellar.authorization_use import (
    AuthorizedTransfer,
    read_authorized_transfer,
    shows_use,
)
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.x402.payment_header import HeaderFault, read_payment_header

CHECK_S: Final = 5.0  # for a ledger that the seller's node has seen before ours
_POLL_S: Final = 0.5
_MAX_CHECKS: Final = 8  # at once: callers choose how often a receipt is looked up
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


class ReceiptCheck:
    """Checks receipts against the nodes of the networks that are served."""

    def __init__(self, nodes: Mapping[Network, SorobanRpc]) -> None:
        self._nodes = nodes
        self._slots = asyncio.Semaphore(_MAX_CHECKS)

    async def find_fault(
        self, signature: Secret[str], receipt: Mapping[str, Any] | None
    ) -> ReceiptFault | None:
        """Say why a receipt proves nothing; None where the ledger shows the payment.

        `signature` is the PAYMENT-SIGNATURE that was sent.
        """
        transfer = _read_transfer(signature)
        if receipt is None or not is_settled(dict(receipt)) or transfer is None:
            return ReceiptFault.NOT_ON_LEDGER
        if receipt.get("network") != transfer.network.value:
            return ReceiptFault.OTHER_NETWORK
        node = self._nodes.get(transfer.network)
        if node is None:
            return ReceiptFault.LEDGER_UNAVAILABLE
        if not _HASH.match(receipt["transaction"]):
            return ReceiptFault.NOT_ON_LEDGER
        return await self._look(node, transfer, receipt["transaction"])

    async def _look(
        self, node: SorobanRpc, transfer: AuthorizedTransfer, tx_hash: str
    ) -> ReceiptFault | None:
        """Look until the payment is shown, or the time is over."""
        fault = ReceiptFault.LEDGER_UNAVAILABLE
        try:
            async with asyncio.timeout(CHECK_S), self._slots:
                while True:
                    try:
                        if await shows_use(node, transfer, tx_hash):
                            return None
                        fault = ReceiptFault.NOT_ON_LEDGER
                    except RpcUnavailable:
                        fault = ReceiptFault.LEDGER_UNAVAILABLE
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            return fault


def _read_transfer(signature: Secret[str]) -> AuthorizedTransfer | None:
    """Read what a payment authorizes; None for one that cannot be read, or of another network."""
    header = read_payment_header([signature.reveal().encode()])
    if isinstance(header, HeaderFault):
        return None
    named = header.network if header.accepted is None else header.accepted.get("network")
    network = parse_network(named) if isinstance(named, str) else None
    if network is None or "payload" not in header.members:
        return None
    try:
        payload = msgspec.json.decode(header.members["payload"], type=dict[str, Any])
        envelope = base64.b64decode(payload["transaction"], validate=True)
    except (msgspec.MsgspecError, KeyError, TypeError, binascii.Error, ValueError):
        return None
    return read_authorized_transfer(envelope, network)
