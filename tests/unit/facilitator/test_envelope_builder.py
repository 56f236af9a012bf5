"""Envelopes of a settlement: whose account and fee they carry, and when a prebuilt one is used."""

from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.facilitator.channels.channel import ChannelLease, channel_signer
from farebox.facilitator.channels.lease_queue import NoChannelFree
from farebox.facilitator.channels.ledger_capacity import CapacityMeter
from farebox.facilitator.settling.envelope_builder import EnvelopeBuilder, NotPayableNow
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import RpcUnavailable
from farebox.x402.reasons import Reason
from support.accepted_payment import LIFE_S, NET, RELAYER, RULES, accepted_payment
from support.manual_clock import START

PAYMENT = accepted_payment()
EXPIRES_AT = PAYMENT.transfer.entry.expires_at_ledger
CHANNEL = ChannelLease(channel_signer(RELAYER, NET, 0).address, 0, epoch=3, used_sequence=41)
OTHER = ChannelLease(channel_signer(RELAYER, NET, 1).address, 1, epoch=3, used_sequence=41)


class Ledger:
    """The ledger clock and the node's accounts, as the test sets them."""

    def __init__(self) -> None:
        self.reading = LedgerReading(EXPIRES_AT - 100, close_at=START, cadence_s=5, age_s=0)
        self.sequences: dict[Address, int] = {CHANNEL.address: 70}
        self.fault: Exception | None = None
        self.reads = 0

    def now(self) -> LedgerReading:
        if self.fault is not None:
            raise self.fault
        return self.reading

    async def account_sequence(self, address: Address) -> int | None:
        self.reads += 1
        return self.sequences.get(address)

    def close(self, *, after_s: float) -> None:
        """One more ledger closes so many seconds later."""
        at = self.reading.close_at + timedelta(seconds=after_s)
        self.reading = replace(self.reading, sequence=self.reading.sequence + 1, close_at=at)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def builder(ledger: Ledger) -> EnvelopeBuilder:
    return EnvelopeBuilder(
        RULES,
        RELAYER,
        CapacityMeter(lambda: None),
        ledger_now=ledger.now,
        account_sequence=ledger.account_sequence,
        fee_stats=lambda: None,
    )


async def test_a_channel_signs_the_next_number_and_the_relayer_pays_in_a_fee_bump(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    sent = await builder.build(PAYMENT, CHANNEL)
    assert (sent.source, sent.source_sequence) == (CHANNEL.address, 42)
    assert sent.inner_hash is not None
    assert (sent.fee_limit, sent.sent_after_ledger) == (23_200, ledger.reading.sequence)
    assert sent.max_time == START + timedelta(seconds=LIFE_S)
    own = await builder.build(PAYMENT, ChannelLease(RELAYER.address, None, 0, 9))
    assert (own.source, own.source_sequence, own.inner_hash) == (RELAYER.address, 10, None)
    assert ledger.reads == 0


async def test_an_unknown_sequence_number_is_read_from_the_ledger(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    assert (await builder.build(PAYMENT, CHANNEL.with_unknown_sequence())).source_sequence == 71
    with pytest.raises(NoChannelFree):
        await builder.build(PAYMENT, OTHER.with_unknown_sequence())
    assert builder.prebuild(PAYMENT, CHANNEL.with_unknown_sequence()) is None, (
        "prebuilding makes no call"
    )
    assert ledger.reads == 2


async def test_a_prebuilt_envelope_is_sent_as_it_is_while_it_fits_the_lease(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    prebuilt = builder.prebuild(PAYMENT, CHANNEL)
    assert prebuilt is not None
    ledger.close(after_s=LIFE_S / 4)
    sent = await builder.build(PAYMENT, CHANNEL, prebuilt=prebuilt)
    assert sent == replace(prebuilt, sent_after_ledger=ledger.reading.sequence)


async def test_a_prebuilt_envelope_is_discarded_when_anything_it_was_built_for_has_changed(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    prebuilt = builder.prebuild(PAYMENT, CHANNEL)
    assert prebuilt is not None
    dearer = replace(PAYMENT, fee=replace(PAYMENT.fee, bump_fee=Stroops(40_000)))
    for payment, lease in (
        (PAYMENT, OTHER),
        (PAYMENT, CHANNEL.with_landed(42)),
        (PAYMENT, CHANNEL.with_unknown_sequence()),
        (dearer, CHANNEL),
    ):
        sent = await builder.build(payment, lease, prebuilt=prebuilt)
        assert sent.tx_hash != prebuilt.tx_hash
    ledger.close(after_s=LIFE_S / 4 + 1)
    sent = await builder.build(PAYMENT, CHANNEL, prebuilt=prebuilt)
    assert sent.max_time == ledger.reading.close_at + timedelta(seconds=LIFE_S), "a full life"


async def test_an_envelope_never_outlives_its_authorization(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    ledger.reading = replace(ledger.reading, sequence=EXPIRES_AT - 4)
    assert (await builder.build(PAYMENT, CHANNEL)).max_time == START + timedelta(seconds=20)


async def test_nothing_is_signed_when_the_ledger_does_not_allow_an_envelope(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    ledger.reading = replace(ledger.reading, sequence=EXPIRES_AT)
    with pytest.raises(NotPayableNow) as refused:
        await builder.build(PAYMENT, CHANNEL)
    assert refused.value.reason is Reason.EXPIRES_TOO_SOON
    ledger.fault = ClockStale(NET)
    with pytest.raises(NotPayableNow) as refused:
        await builder.build(PAYMENT, CHANNEL)
    assert refused.value.reason is Reason.NETWORK_UNAVAILABLE
    assert builder.prebuild(PAYMENT, CHANNEL) is None


async def test_prebuild_raises_nothing_into_the_settlement_that_announced_the_lease(
    builder: EnvelopeBuilder, ledger: Ledger
) -> None:
    ledger.fault = RuntimeError("a bug of this settlement alone")
    assert builder.prebuild(PAYMENT, CHANNEL) is None
    with pytest.raises(RuntimeError):
        await builder.build(PAYMENT, CHANNEL)


async def test_build_refuses_while_the_node_is_away(ledger: Ledger) -> None:
    async def away(address: Address) -> int | None:
        raise RpcUnavailable(NET, "away", certainly_not_sent=True)

    builder = EnvelopeBuilder(
        RULES,
        RELAYER,
        CapacityMeter(lambda: None),
        ledger_now=ledger.now,
        account_sequence=away,
        fee_stats=lambda: None,
    )
    with pytest.raises(NotPayableNow) as refused:
        await builder.build(PAYMENT, CHANNEL.with_unknown_sequence())
    assert refused.value.reason is Reason.NETWORK_UNAVAILABLE


async def test_a_replacement_carries_a_higher_inclusion_fee_within_the_operators_limits(
    builder: EnvelopeBuilder,
) -> None:
    sent = await builder.build(PAYMENT, CHANNEL)
    raised = builder.raise_inclusion_fee(PAYMENT, replaced=sent, attempt=1, floor=None)
    assert raised is not None
    replacement = await builder.build(raised, CHANNEL)
    assert sent.fee_limit < replacement.fee_limit <= RULES.fees.ceiling
    over = Stroops(RULES.fees.ceiling + 1)
    assert builder.raise_inclusion_fee(PAYMENT, replaced=sent, attempt=1, floor=over) is None
