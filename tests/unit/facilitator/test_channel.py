import pytest
from nacl.signing import SigningKey

from farebox.facilitator.channels.channel import (
    Channel,
    ChannelsRefused,
    ChannelState,
    channel_signer,
    check_keys,
    choose_active,
    choose_indices,
)
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import SigningAccount

NET = Network.TESTNET
ACTIVE, DRAINING, RETIRED = ChannelState.ACTIVE, ChannelState.DRAINING, ChannelState.RETIRED


def relayer(tag: int = 1) -> SigningAccount:
    key = SigningKey(bytes([tag]) * 32)
    return SigningAccount(account_address(bytes(key.verify_key)), Secret(key))


def channels(*states: ChannelState, first: int = 0) -> list[Channel]:
    return [
        Channel(NET, channel_signer(relayer(), NET, index).address, index, state, is_free=True)
        for index, state in enumerate(states, start=first)
    ]


def test_channel_signers_are_derived_from_relayer_network_and_index() -> None:
    addresses = {
        channel_signer(relayer(), network, index).address for network in Network for index in (0, 1)
    }
    assert len(addresses) == 4
    assert channel_signer(relayer(), NET, 0).address in addresses
    assert relayer().address not in addresses
    assert channel_signer(relayer(2), NET, 0).address not in addresses


def test_choose_indices_returns_at_most_nineteen_and_only_the_missing_ones() -> None:
    assert choose_indices([], 20) == list(range(19))
    assert choose_indices(channels(*[ACTIVE] * 19), 20) == [19]
    assert choose_indices(channels(ACTIVE, ACTIVE), 2) == []
    assert choose_indices(channels(ACTIVE, ACTIVE), 1) == []


def test_choose_indices_skips_used_indices_and_fills_gaps_first() -> None:
    assert choose_indices(channels(RETIRED, DRAINING, ACTIVE), 2) == [3]
    assert choose_indices(channels(ACTIVE, first=2), 4) == [0, 1, 3]


def test_check_keys_refuses_channels_of_another_relayer_until_they_are_retired() -> None:
    check_keys(channels(ACTIVE, DRAINING), relayer(), NET)
    check_keys(channels(RETIRED), relayer(2), NET)
    with pytest.raises(ChannelsRefused):
        check_keys(channels(RETIRED, DRAINING), relayer(2), NET)


def test_choose_active_keeps_active_channels_and_refuses_unknown_or_retired_ones() -> None:
    known = channels(ACTIVE, DRAINING, RETIRED)
    first, second, third = (each.address for each in known)
    assert choose_active(known, [first, second, first]) == [first]
    with pytest.raises(ChannelsRefused, match="no channel"):
        choose_active(known, [first, relayer().address])
    with pytest.raises(ChannelsRefused, match="retired"):
        choose_active(known, [third])
