import pytest
from stellar_sdk import Network as SdkNetwork

from farebox.kernel.networks import Network, parse_network


def test_network_ids_and_passphrases_match_the_sdk() -> None:
    assert Network.TESTNET.passphrase == SdkNetwork.TESTNET_NETWORK_PASSPHRASE
    assert Network.PUBNET.passphrase == SdkNetwork.PUBLIC_NETWORK_PASSPHRASE
    for network in Network:
        assert network.id == SdkNetwork(network.passphrase).network_id()
        assert parse_network(network.value) is network
        assert network.value == f"stellar:{network.label}"


@pytest.mark.parametrize(
    "text", ["", "stellar:*", "stellar:mainnet", "Stellar:testnet", "stellar:testnet\n"]
)
def test_parse_network_is_none_for_other_text(text: str) -> None:
    assert parse_network(text) is None
