"""The 402 response of an origin."""

import json
from typing import Any

import pytest

from farebox.catalog.origin.payment_required import (
    MAX_OPTIONS,
    OriginPaymentRequired,
    PaymentOption,
    parse_payment_required,
)
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from support.journal_rows import ASSET, OTHER_SELLER, SELLER

Json = dict[str, Any]


def entry(**changes: object) -> Json:
    option: Json = {
        "scheme": "exact",
        "network": "stellar:testnet",
        "asset": ASSET,
        "amount": "10000",
        "payTo": SELLER,
        "maxTimeoutSeconds": 60,
        "extra": {"areFeesSponsored": True},
    }
    return option | changes


def document(*entries: object, **changes: object) -> bytes:
    return json.dumps({"x402Version": 2, "accepts": list(entries)} | changes).encode()


def test_payment_required_has_each_option_on_served_networks() -> None:
    raw = document(entry(), entry(network="stellar:pubnet", payTo=OTHER_SELLER, amount="1"))
    assert parse_payment_required(raw) == OriginPaymentRequired(
        (
            PaymentOption(Network.TESTNET, ASSET, BaseUnits(10_000), SELLER),
            PaymentOption(Network.PUBNET, ASSET, BaseUnits(1), OTHER_SELLER),
        ),
        raw,
    )


def test_payment_required_names_a_recipient_only_on_its_network() -> None:
    read = parse_payment_required(document(entry()))
    assert read is not None
    assert read.names_recipient(Network.TESTNET, SELLER)
    assert not read.names_recipient(Network.PUBNET, SELLER)
    assert not read.names_recipient(Network.TESTNET, OTHER_SELLER)


@pytest.mark.parametrize(
    "other",
    [
        entry(scheme="upto"),
        entry(network="eip155:8453"),
        entry(network="stellar:TESTNET"),
        entry(asset="USDC"),
        entry(payTo="M" + SELLER[1:]),
        entry(payTo=SELLER[:-1]),
        entry(payTo=None),
        entry(amount=10_000),
        entry(amount="0"),
        entry(amount="-1"),
        entry(amount=str(2**127)),
        entry(payTo=[SELLER]),
        [],
        "text",
        None,
        {},
    ],
)
def test_unreadable_option_is_skipped_and_hides_no_other(other: object) -> None:
    read = parse_payment_required(document(other, entry(), other))
    assert read is not None
    assert [each.pay_to for each in read.options] == [SELLER]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"x402Version": 2}',
        b'{"x402Version": 2, "accepts": {}}',
        b'{"x402Version": "2", "accepts": []}',
        b'{"x402Version": 1, "accepts": []}',
        b'{"accepts": []}',
        b'{"x402Version": 2, "accepts": [' + b"[" * 100_000,
        b'{"x402Version": 2, "accepts": [], "error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_document_that_is_no_version_2_payment_required_is_none(raw: bytes) -> None:
    assert parse_payment_required(raw) is None


def test_payment_required_reads_only_the_first_options() -> None:
    many = [entry(amount=str(n)) for n in range(1, 500)]
    read = parse_payment_required(document(*many))
    assert read is not None
    assert len(read.options) == MAX_OPTIONS
