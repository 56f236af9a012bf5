"""The stellar.toml file and the service's URL in it."""

import tomllib

from stellar_sdk import Keypair

from farebox.accounts.stellar_toml import ServiceAddress, stellar_toml
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.networks import Network

SERVER = Address(Keypair.random().public_key)
CONTRACT = contract_address(bytes(32))
URL = "https://api.example.com"


def test_stellar_toml_has_the_key_and_endpoint_of_the_one_network() -> None:
    assert tomllib.loads(stellar_toml(URL, SERVER, {Network.TESTNET: None})) == {
        "VERSION": "2.7.0",
        "NETWORK_PASSPHRASE": Network.TESTNET.passphrase,
        "SIGNING_KEY": SERVER,
        "WEB_AUTH_ENDPOINT": f"{URL}/v1/auth/testnet",
    }


def test_stellar_toml_has_pubnet_and_its_contract_when_there_are_two_networks() -> None:
    read = tomllib.loads(
        stellar_toml(URL, SERVER, {Network.TESTNET: None, Network.PUBNET: CONTRACT})
    )
    assert read["NETWORK_PASSPHRASE"] == Network.PUBNET.passphrase
    assert read["WEB_AUTH_ENDPOINT"] == f"{URL}/v1/auth/pubnet"
    assert read["WEB_AUTH_FOR_CONTRACTS_ENDPOINT"] == f"{URL}/v1/auth/pubnet"
    assert read["WEB_AUTH_CONTRACT_ID"] == CONTRACT


def test_service_url_is_where_the_request_came_in_without_a_public_url() -> None:
    assert ServiceAddress("127.0.0.1", None).url_at("127.0.0.1", 5) == "http://127.0.0.1:5"
    assert ServiceAddress("::1", None).url_at("::1", 5) == "http://[::1]:5"
    assert ServiceAddress("api.example.com", URL).url_at("10.0.0.1", 5) == URL
