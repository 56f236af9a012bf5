"""`/v1/networks`, `/v1/accounts` and `/v1/contracts`: the declared routes and their handlers."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.explorer.holding import Asset, read_asset, usual_assets
from farebox.explorer.read_account import AccountReaders
from farebox.explorer.read_contract import ContractReaders
from farebox.explorer.read_networks import NetworksReader
from farebox.explorer.wire import (
    AccountBody,
    ContractBody,
    NetworksBody,
    account_body,
    contract_body,
    networks_body,
)
from farebox.kernel.addresses import parse_contract, parse_party
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network, parse_network
from farebox.web.endpoint import (
    Endpoint,
    Example,
    JsonSchema,
    Parameter,
    ParameterLocation,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    one_of,
    text,
)
from farebox.web.query_string import read_pairs
from farebox.web.responses import send_json

R = TypeVar("R")
MAX_ASSETS: Final = 10  # that one request names
_READ_COST: Final = 5  # tokens: a read calls the node
_MUXED: Final = ("M", "W")
_encode: Final = msgspec.json.Encoder().encode


def _in_path(name: str, description: str, schema: JsonSchema) -> Parameter:
    return Parameter(name, description, schema, ParameterLocation.PATH, is_required=True)


_NETWORK: Final = _in_path(
    "network",
    "The CAIP-2 id of a network that is served.",
    one_of(*(each.value for each in Network)),
)
_ACCOUNT_EXAMPLE: Final = "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3"
_USDC_EXAMPLE: Final = {
    "code": "USDC",
    "issuer": "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5",
    "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
}

NETWORKS: Final = RouteDeclaration(
    method="GET",
    path="/v1/networks",
    tag="ledger",
    summary="Every network: its passphrase, protocol, latest ledger, fees and USDC.",
    responses={200: ResponseDeclaration("The networks.", NetworksBody)},
    rate=Rate(RateClass.DISCOVERY),
    is_cross_origin=True,
    example=Example(
        response={
            "networks": [
                {
                    "network": "stellar:testnet",
                    "passphrase": "Test SDF Network ; September 2015",
                    "isServed": True,
                    "available": True,
                    "protocolVersion": 30,
                    "ledger": {
                        "sequence": 1_204_500,
                        "closedAt": "2026-11-23T09:30:00Z",
                        "secondsPerLedger": 5.02,
                    },
                    "fees": {
                        "inclusionP99": "100",
                        "inclusionMax": "2000",
                        "meanPayment": "23041",
                    },
                    "usdc": _USDC_EXAMPLE,
                }
            ]
        }
    ),
)
ACCOUNT: Final = RouteDeclaration(
    method="GET",
    path="/v1/accounts/{network}/{address}",
    tag="ledger",
    summary="An account and its balances: the native one, USDC, and of the assets that are named.",
    responses={200: ResponseDeclaration("The account.", AccountBody)},
    parameters=(
        _NETWORK,
        _in_path("address", "A G… account or a C… contract.", text(max_length=56)),
        Parameter(
            "asset",
            f"CODE:ISSUER or a C… token contract; may be repeated, {MAX_ASSETS} times at most.",
            text(max_length=80),
        ),
    ),
    rate=Rate(RateClass.DISCOVERY, cost=_READ_COST),
    errors=(
        ErrorCode.INVALID_QUERY_STRING,
        ErrorCode.TOO_MANY_PARAMETERS,
        ErrorCode.INVALID_ASSET,
        ErrorCode.INVALID_ADDRESS,
        ErrorCode.MUXED_ACCOUNT_UNSUPPORTED,
        ErrorCode.UNSUPPORTED_NETWORK,
        ErrorCode.ACCOUNT_NOT_FOUND,
    ),
    is_cross_origin=True,
    example=Example(
        response={
            "network": "stellar:testnet",
            "address": _ACCOUNT_EXAMPLE,
            "kind": "account",
            "exists": True,
            "latestLedger": 1_204_500,
            "balances": [
                {
                    "asset": "native",
                    "contract": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                    "state": "held",
                    "balance": "99999900",
                    "buyingLiabilities": "0",
                    "sellingLiabilities": "0",
                },
                {
                    "asset": f"USDC:{_USDC_EXAMPLE['issuer']}",
                    "contract": _USDC_EXAMPLE["contract"],
                    "state": "held",
                    "balance": "12500000",
                    "buyingLiabilities": "0",
                    "sellingLiabilities": "0",
                    "limit": "9223372036854775807",
                    "isAuthorized": True,
                    "isAuthorizedToMaintainLiabilities": True,
                    "isClawbackEnabled": False,
                },
            ],
            "sequence": "5173290803200001",
            "minimumReserve": "15000000",
            "signers": [{"key": _ACCOUNT_EXAMPLE, "type": "ed25519_public_key", "weight": 1}],
            "thresholds": {"low": 0, "medium": 0, "high": 0},
        }
    ),
)
CONTRACT: Final = RouteDeclaration(
    method="GET",
    path="/v1/contracts/{network}/{contract}",
    tag="ledger",
    summary="A contract: its kind, the hash of its code, and its functions.",
    responses={200: ResponseDeclaration("The contract.", ContractBody)},
    parameters=(
        _NETWORK,
        _in_path("contract", "The C… address of the contract.", text(max_length=56)),
    ),
    rate=Rate(RateClass.DISCOVERY, cost=_READ_COST),
    errors=(
        ErrorCode.INVALID_ADDRESS,
        ErrorCode.UNSUPPORTED_NETWORK,
        ErrorCode.CONTRACT_NOT_FOUND,
    ),
    is_cross_origin=True,
    example=Example(
        response={
            "network": "stellar:testnet",
            "contract": "CDV27O2HOZEFVYT4PA7ITB5EDY6E2KYFQPRJ3R4P4CC2MTHF5IA4KR5F",
            "kind": "wasm",
            "wasmHash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "latestLedger": 1_204_500,
            "isArchived": False,
            "interface": "read",
            "functions": [
                {
                    "name": "transfer",
                    "inputs": [
                        {"name": "from", "type": "Address"},
                        {"name": "to", "type": "MuxedAddress"},
                        {"name": "amount", "type": "i128"},
                    ],
                    "output": None,
                }
            ],
        }
    ),
)


class BadAddress(Refusal):
    """The path names no account or contract."""


class BadAssets(Refusal):
    """The query string names assets that cannot be read, or too many."""


class NetworkNotServed(Refusal):
    """The path names no network that is served."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_NETWORK)


class ShowNetworks:
    """Shows every network, whether it is served or available or not."""

    def __init__(self, networks: NetworksReader) -> None:
        self._networks = networks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, _encode(networks_body(self._networks.read())))


class ShowAccount:
    """Shows an account and what it holds."""

    def __init__(self, readers: AccountReaders) -> None:
        self._readers = readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        network, reader = _on_network(scope, self._readers)
        given = scope["path_params"]["address"]
        address = parse_party(given)
        if address is None:
            is_muxed = given.startswith(_MUXED)
            code = ErrorCode.MUXED_ACCOUNT_UNSUPPORTED if is_muxed else ErrorCode.INVALID_ADDRESS
            raise BadAddress(code)
        assets = _read_assets(scope["query_string"], network)
        account = await reader.read(address, assets)
        await send_json(send, 200, _encode(account_body(account, network)))


class ShowContract:
    """Shows a contract."""

    def __init__(self, readers: ContractReaders) -> None:
        self._readers = readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        network, reader = _on_network(scope, self._readers)
        address = parse_contract(scope["path_params"]["contract"])
        if address is None:
            raise BadAddress(ErrorCode.INVALID_ADDRESS, "Name the C… address of a contract.")
        contract = await reader.read(address)
        await send_json(send, 200, _encode(contract_body(contract, network)))


def explorer_endpoints(
    networks: NetworksReader, accounts: AccountReaders, contracts: ContractReaders
) -> list[Endpoint]:
    """Return the routes that read the ledgers."""
    return [
        Endpoint(NETWORKS, ShowNetworks(networks)),
        Endpoint(ACCOUNT, ShowAccount(accounts)),
        Endpoint(CONTRACT, ShowContract(contracts)),
    ]


def _on_network(scope: Scope, readers: Mapping[Network, R]) -> tuple[Network, R]:
    network = parse_network(scope["path_params"]["network"])
    reader = None if network is None else readers.get(network)
    if network is None or reader is None:
        raise NetworkNotServed
    return network, reader


def _read_assets(query: bytes, network: Network) -> list[Asset]:
    """Read the usual assets and those that the query string names, each once."""
    try:
        named = [value for name, value in read_pairs(query) if name == "asset"]
    except ValueError:
        raise BadAssets(ErrorCode.INVALID_QUERY_STRING) from None
    if len(named) > MAX_ASSETS:
        words = f"At most {MAX_ASSETS} assets are named."
        raise BadAssets(ErrorCode.TOO_MANY_PARAMETERS, words)
    assets = list(usual_assets(network))
    for each in named:
        asset = read_asset(each, network)
        if asset is None:
            raise BadAssets(ErrorCode.INVALID_ASSET)
        if asset not in assets:
            assets.append(asset)
    return assets
