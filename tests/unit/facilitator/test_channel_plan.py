import pytest
from nacl.signing import SigningKey

from farebox.facilitator.channels.channel import Channel, ChannelState, channel_signer
from farebox.facilitator.channels.plan import (
    ChannelsRefused,
    check_keys,
    choose_drained,
    next_indices,
)
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import Relayer

NET = Network.TESTNET
ACTIVE, DRAINING, RETIRED = ChannelState.ACTIVE, ChannelState.DRAINING, ChannelState.RETIRED


def relayer(tag: int = 1) -> Relayer:
    key = SigningKey(bytes([tag]) * 32)
    return Relayer(account_address(bytes(key.verify_key)), Secret(key))


def channels(*states: ChannelState, first: int = 0) -> list[Channel]:
    return [
        Channel(NET, channel_signer(relayer(), NET, index).address, index, state, is_free=True)
        for index, state in enumerate(states, start=first)
    ]


def test_one_transaction_makes_nineteen_at_most_and_never_more_than_are_missing() -> None:
    assert next_indices([], 20) == list(range(19))
    assert next_indices(channels(*[ACTIVE] * 19), 20) == [19]
    assert next_indices(channels(ACTIVE, ACTIVE), 2) == []
    assert next_indices(channels(ACTIVE, ACTIVE), 1) == []


def test_an_index_is_never_used_again_and_one_left_out_comes_next() -> None:
    assert next_indices(channels(RETIRED, DRAINING, ACTIVE), 2) == [3]
    assert next_indices(channels(ACTIVE, first=2), 4) == [0, 1, 3]


def test_channels_of_another_relayer_stop_everything_until_they_are_retired() -> None:
    check_keys(channels(ACTIVE, DRAINING), relayer(), NET)
    check_keys(channels(RETIRED), relayer(2), NET)
    with pytest.raises(ChannelsRefused):
        check_keys(channels(RETIRED, DRAINING), relayer(2), NET)


def test_only_active_channels_are_drained_and_unknown_ones_refused() -> None:
    known = channels(ACTIVE, DRAINING, RETIRED)
    first, second, third = (each.address for each in known)
    assert choose_drained(known, [first, second, first]) == [first]
    with pytest.raises(ChannelsRefused, match="no channel"):
        choose_drained(known, [first, relayer().address])
    with pytest.raises(ChannelsRefused, match="retired"):
        choose_drained(known, [third])
