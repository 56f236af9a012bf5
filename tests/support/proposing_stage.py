"""A service whose testnet has a funded paymaster, and requests about plans of its wallets."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from farebox.kernel.networks import Network
from farebox.local.devnet import Party
from support.asgi import Answer
from support.callers import OPERATOR_SETTING, Wallet, send_request, sign_in_wallet
from support.contracts import wasm_of
from support.payments import Json
from support.plan_stage import PlanStage, opened_plan_stage
from support.stage import Stage
from testing.plan_specs import in_time, payments, upkeep

PLANS: Final = "/v1/automations"


@dataclass(slots=True)
class ProposingStage(PlanStage):
    """A running service with a paymaster, and its database."""

    _wallet: Wallet | None = None

    async def wallet(
        self, address: str | None = None, network: Network = Network.TESTNET
    ) -> Wallet:
        """Sign in a wallet; without an address one whose account is on the ledger."""
        if address is None:  # one of the scene is there at once, a funded one with a ledger
            scene = await self.stage.networks[network].devnet.scene(payers=0, payees=1)
            address = scene.payees[0].address
        return await sign_in_wallet(self.database, address=address, network=network)

    async def some_wallet(self) -> Wallet:
        """A wallet that previews share, as they write nothing."""
        self._wallet = self._wallet or await self.wallet()
        return self._wallet

    async def wallet_of(self, party: Party) -> Wallet:
        """Sign in an account of the scene."""
        return await self.wallet(party.address)

    async def post(
        self,
        headers: Mapping[str, str],
        body: object,
        path: str = PLANS,
        **more: str,
    ) -> Answer:
        """Send a body; `more` are further headers."""
        sent = dict(headers) | {name.replace("_", "-"): value for name, value in more.items()}
        return await send_request(self.client, "POST", path, sent, body)

    async def get(self, headers: Mapping[str, str], path: str = "") -> Answer:
        """Read something under the plans' path."""
        return await send_request(self.client, "GET", PLANS + path, headers)

    async def propose(self, wallet: Wallet, body: Json, **more: str) -> Json:
        """Propose a plan that nothing refuses; the response."""
        answer = await self.post(wallet.headers, body, **more)
        assert answer.status == 201, answer.body
        return answer.json()

    async def refusal(
        self, headers: Mapping[str, str], body: object, path: str = PLANS, **more: str
    ) -> tuple[int, str, str]:
        """Send a body that is refused: status, code and member."""
        answer = await self.post(headers, body, path, **more)
        error = answer.json()["error"]
        return answer.status, error["code"], error.get("details", {}).get("field", "")

    async def count(self, table: str) -> int:
        """Count the rows of a table."""
        rows = await self.stage.query(f"SELECT count(*) AS n FROM {table}")
        return int(rows[0]["n"])


def hash_of(name: str) -> str:
    """The hash of a committed contract's code, in hexadecimal."""
    return hashlib.sha256(wasm_of(name)).hexdigest()


def keeper_plan(keeper: str, **changes: Any) -> Json:
    """A plan that runs a keeper every hour."""
    body = {
        "kind": "contract_call",
        "network": Network.TESTNET.value,
        "title": "Upkeep",
        "schedule": {"type": "interval", "everySeconds": 3600, "startAt": in_time(hours=1)},
        "spec": upkeep(keeper),
        "runLimit": 12,
    }
    return body | changes


def payroll(token: str, *legs: tuple[str, int], **changes: Any) -> Json:
    """A plan that pays several recipients once, with entries signed ahead."""
    body = {
        "kind": "disbursement",
        "network": Network.TESTNET.value,
        "title": "Payroll",
        "schedule": {"type": "once", "at": in_time(hours=1)},
        "spec": payments(token, legs),
        "runLimit": 1,
        "authorityMode": "presigned",
        "expiresAt": in_time(hours=6),  # a devnet closes many ledgers in a week
    }
    return body | changes


@contextlib.asynccontextmanager
async def proposing_stage(stage: Stage, **settings: str) -> AsyncIterator[ProposingStage]:
    """Start a service with a funded paymaster and a channel; what it wrote is removed."""
    own = {"FAREBOX_CHANGES_PER_MINUTE": "0"} | OPERATOR_SETTING | settings
    async with opened_plan_stage(stage, 1, **own) as opened:
        yield ProposingStage(stage, opened.client, opened.database, opened.environment)
