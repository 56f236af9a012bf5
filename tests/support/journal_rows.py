"""Settlements inserted into the journal, with their discovery metadata."""

import itertools
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.manual_clock import START

Json = dict[str, Any]
_nonces: Final = itertools.count(1)
ASSET: Final = contract_address(bytes([7]) * 32)
WEATHER: Final = "https://api.weather.example/forecast"


def party(number: int) -> Address:
    """An account of its own for each number."""
    return account_address(number.to_bytes(32, "big"))


PAYER: Final = party(1)
SELLER: Final = party(9_000)
OTHER_SELLER: Final = party(9_001)


def http_bazaar(method: str = "GET", **members: Any) -> Json:
    """Discovery metadata of an HTTP resource that its own schema allows."""
    return {
        "info": {"input": {"type": "http", "method": method, "queryParams": {"city": "Paris"}}},
        "schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"input": {"type": "object"}},
            "required": ["input"],
        },
    } | members


def tool_bazaar(name: str = "forecast") -> Json:
    """Discovery metadata of an MCP tool."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    info = {"input": {"type": "mcp", "toolName": name, "inputSchema": schema}}
    return http_bazaar() | {"info": info}


def resource(url: str = WEATHER, **members: Any) -> Json:
    """Build the `resource` member of a payload."""
    return {"url": url, "description": "Tomorrow's weather", "serviceName": "Skies"} | members


def discovery(url: str = WEATHER, bazaar: Json | None = None, **members: Any) -> bytes:
    """Build both members as the journal stores them."""
    document = {"resource": resource(url, **members), "bazaar": bazaar or http_bazaar()}
    return json.dumps(document).encode()


@dataclass(frozen=True, slots=True)
class Paid:
    """A settlement to insert: parties, amount, metadata and ledger."""

    text: bytes | None = field(default_factory=discovery)
    payer: Address = PAYER
    pay_to: Address = SELLER
    amount: int = 10_000
    asset: Address = ASSET
    network: Network = Network.TESTNET
    ledger: int = 100
    at: datetime = START - timedelta(seconds=60)
    state: str = "confirmed"


async def insert_settlement(database: Database, paid: Paid) -> PaymentIdentity:
    """Insert the settlement's row; return its identity."""
    identity = PaymentIdentity(paid.network, paid.payer, next(_nonces))
    async with database.connection() as db:
        await db.execute(
            """
            INSERT INTO settlements (network, payer, nonce, state, claim_id, request_digest,
                claimed_at, asset, amount, pay_to, expires_at_ledger, tx_hash, envelope, source,
                source_sequence, max_time, sent_after_ledger, ledger, finished_at, max_timeout_s,
                discovery)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                    $18, $19, $20, $21)
            """,
            paid.network.value,
            paid.payer,
            identity.nonce,
            paid.state,
            uuid4(),
            bytes(32),
            paid.at - timedelta(seconds=5),
            paid.asset,
            paid.amount,
            paid.pay_to,
            paid.ledger + 50,
            identity.nonce.to_bytes(32, "big"),
            b"envelope",
            f"source {identity.nonce}",
            1,
            paid.at + timedelta(seconds=40),
            paid.ledger - 1,
            paid.ledger if paid.state == "confirmed" else None,
            None if paid.state in ("sending", "submitted") else paid.at,
            60,
            paid.text,
        )
    return identity
