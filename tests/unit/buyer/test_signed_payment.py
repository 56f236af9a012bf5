"""The file of a payment: written once, read back whole, by its owner alone."""

import dataclasses
import json
import stat
from pathlib import Path

import pytest

from farebox.buyer.seller_client import SellerRequest
from farebox.buyer.signed_payment import (
    NodeAddress,
    PaymentFileRefused,
    SignedPayment,
    default_folder,
    keep_payment,
    open_payment,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import AuthorizedTransfer
from farebox.stellar.known_tokens import USDC
from support.offers import SELLER

PAYMENT = SignedPayment(
    SellerRequest("http://seller.test/a?b", "POST", {"X": "y"}, b"\x00\xff"),
    Secret("the header"),
    AuthorizedTransfer(
        Network.PUBNET,
        USDC[Network.PUBNET].contract,
        BaseUnits(5),
        Address(SELLER),
        payer=Address(SELLER),
        nonce=-(2**63),
        expires_at_ledger=1060,
    ),
    1000,
)


@pytest.mark.parametrize("body", [None, b"", b"\x00\xff"])
def test_payment_is_read_back_as_it_was_kept(tmp_path: Path, body: bytes | None) -> None:
    payment = dataclasses.replace(PAYMENT, request=SellerRequest("http://x/", body=body))
    node = NodeAddress("http://node/?key", "/ca.pem")
    path = keep_payment(tmp_path / "new" / "folder", payment, node)
    opened, named = open_payment(path)
    assert (dataclasses.replace(opened, header=payment.header), named) == (payment, node)
    assert opened.header.reveal() == "the header"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    assert path.name == "pubnet-8000000000000000.json"


def test_kept_payment_is_never_overwritten(tmp_path: Path) -> None:
    path = keep_payment(tmp_path, PAYMENT, NodeAddress())
    before = path.read_bytes()
    with pytest.raises(PaymentFileRefused, match="was not sent"):
        keep_payment(tmp_path, PAYMENT, NodeAddress())
    assert path.read_bytes() == before


def test_payment_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PaymentFileRefused, match="--payments"):
        keep_payment(tmp_path / "file", PAYMENT, NodeAddress())


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"amount": "0"},
        {"payer": "M"},
        {"network": "stellar:other"},
        {"nonce": "x"},
        {"request": []},
    ],
)
def test_file_of_another_form_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    path = keep_payment(tmp_path, PAYMENT, NodeAddress())
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(PaymentFileRefused, match="is not a payment"):
        open_payment(path)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '"x"', "\x00"])
def test_file_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "payment.json"
    path.write_text(text)
    with pytest.raises(PaymentFileRefused, match="is not a payment"):
        open_payment(path)
    with pytest.raises(PaymentFileRefused, match="Cannot read"):
        open_payment(tmp_path / "absent.json")


def test_payments_are_kept_in_the_users_folder_of_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_folder() == Path("/state/farebox/payments")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_folder() == Path.home() / ".local/state/farebox/payments"
