"""A signed payment with the request that it pays for, and the file that keeps it.

The file is written before the payment leaves this machine, so that the payment can be looked for,
and repeated with the very same bytes, after this process has ended. Its owner alone can read it.
"""

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from farebox.buyer.seller_client import SellerRequest
from farebox.kernel.addresses import parse_contract, parse_party
from farebox.kernel.amounts import parse_base_units
from farebox.kernel.errors import CommandRefused
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import AuthorizedTransfer

_MAX_FILE_BYTES: Final = 32 * 1024 * 1024
_VERSION: Final = 1


class PaymentFileRefused(CommandRefused):
    """The payment's file cannot be used; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class SignedPayment:
    """A payment as it is sent: `header` is the value of PAYMENT-SIGNATURE."""

    request: SellerRequest
    header: Secret[str]
    transfer: AuthorizedTransfer
    signed_in_ledger: int

    @property
    def network(self) -> Network:
        """The network that it is made on."""
        return self.transfer.network


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """The node that was named for the payment; None where it came from the environment."""

    rpc_url: str | None = None
    authority: str | None = None


def default_folder() -> Path:
    """The default folder of payments' files: `~/.local/state/farebox/payments`."""
    configured = os.environ.get("XDG_STATE_HOME")
    folder = Path(configured) if configured else Path.home() / ".local" / "state"
    return folder / "farebox" / "payments"


def keep_payment(folder: Path, payment: SignedPayment, node: NodeAddress) -> Path:
    """Write the payment to a new file of mode 0600 in `folder`; return the file.

    Raises:
        PaymentFileRefused: it cannot be written.
    """
    nonce = payment.transfer.nonce.to_bytes(8, "big", signed=True).hex()
    path = folder.absolute() / f"{payment.network.label}-{nonce}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(path, json.dumps(_to_json(payment, node), indent=1) + "\n")
    except OSError as error:
        raise PaymentFileRefused(
            f"Cannot keep the payment in {path.parent} ({error.strerror}), so it was not sent: "
            "name another folder with --payments."
        ) from error
    return path


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # a part of a payment is of no use
        path.unlink(missing_ok=True)
        raise


def open_payment(path: Path) -> tuple[SignedPayment, NodeAddress]:
    """Read the file of a payment.

    Raises:
        PaymentFileRefused: it is absent, or not such a file.
    """
    try:
        with path.open("rb") as file:
            body = json.loads(file.read(_MAX_FILE_BYTES))
        return _from_json(body)
    except OSError as error:
        raise PaymentFileRefused(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PaymentFileRefused(f"{path} is not a payment kept by `farebox pay`.") from error


def _to_json(payment: SignedPayment, node: NodeAddress) -> dict[str, object]:
    request, transfer = payment.request, payment.transfer
    body = None if request.body is None else base64.b64encode(request.body).decode()
    return {
        "version": _VERSION,
        "request": {
            "url": request.url,
            "method": request.method,
            "headers": dict(request.headers),
            "body": body,
        },
        "paymentSignature": payment.header.reveal(),
        "network": transfer.network.value,
        "asset": transfer.asset,
        "amount": str(transfer.amount),
        "payTo": transfer.pay_to,
        "payer": transfer.payer,
        "nonce": str(transfer.nonce),
        "expiresAtLedger": transfer.expires_at_ledger,
        "signedInLedger": payment.signed_in_ledger,
        "rpcUrl": node.rpc_url,
        "rpcAuthority": node.authority,
    }


def _from_json(body: dict[str, Any]) -> tuple[SignedPayment, NodeAddress]:
    request, amount = body["request"], parse_base_units(body["amount"])
    asset, pay_to = parse_contract(body["asset"]), parse_party(body["payTo"])
    payer = parse_party(body["payer"])
    if body["version"] != _VERSION or not amount or not asset or not pay_to or not payer:
        raise ValueError("not of this form")
    transfer = AuthorizedTransfer(
        Network(body["network"]),
        asset,
        amount,
        pay_to,
        payer=payer,
        nonce=int(body["nonce"]),
        expires_at_ledger=int(body["expiresAtLedger"]),
    )
    sent = None if request["body"] is None else base64.b64decode(request["body"])
    headers = {str(name): str(value) for name, value in request["headers"].items()}
    payment = SignedPayment(
        SellerRequest(str(request["url"]), str(request["method"]), headers, sent),
        Secret(str(body["paymentSignature"])),
        transfer,
        int(body["signedInLedger"]),
    )
    return payment, NodeAddress(body["rpcUrl"], body["rpcAuthority"])
