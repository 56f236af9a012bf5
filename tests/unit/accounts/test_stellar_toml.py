"""What wallets read of us, as the public SDK reads it."""

import tomllib

from stellar_sdk import Keypair

from farebox.accounts.public_place import PublicPlace
from farebox.accounts.stellar_toml import stellar_toml
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network

SERVER = Address(Keypair.random().public_key)
CONTRACT = contract_address(bytes(32))
URL = "https://api.example.com"


def test_the_file_names_the_key_and_the_endpoint_of_the_one_network() -> None:
    assert tomllib.loads(stellar_toml(URL, SERVER, {Network.TESTNET: None})) == {
        "VERSION": "2.7.0",
        "NETWORK_PASSPHRASE": Network.TESTNET.passphrase,
        "SIGNING_KEY": SERVER,
        "WEB_AUTH_ENDPOINT": f"{URL}/v1/auth/testnet",
    }


def test_of_two_networks_it_names_pubnet_and_its_contract() -> None:
    read = tomllib.loads(
        stellar_toml(URL, SERVER, {Network.TESTNET: None, Network.PUBNET: CONTRACT})
    )
    assert read["NETWORK_PASSPHRASE"] == Network.PUBNET.passphrase
    assert read["WEB_AUTH_ENDPOINT"] == f"{URL}/v1/auth/pubnet"
    assert read["WEB_AUTH_FOR_CONTRACTS_ENDPOINT"] == f"{URL}/v1/auth/pubnet"
    assert read["WEB_AUTH_CONTRACT_ID"] == CONTRACT


def test_without_a_public_address_it_is_where_the_request_came_in() -> None:
    assert PublicPlace("127.0.0.1", None).url_at("127.0.0.1", 5) == "http://127.0.0.1:5"
    assert PublicPlace("::1", None).url_at("::1", 5) == "http://[::1]:5"
    assert PublicPlace("api.example.com", URL).url_at("10.0.0.1", 5) == URL
