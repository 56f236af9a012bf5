"""The demo's last part: a plan that runs a keeper contract once, made with an API key."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from farebox.buyer.wallet import Wallet
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.demo_automation import DemoAutomation
from farebox.local.demo_log import DemoLog
from farebox.local.faults import LocalFault
from farebox.local.owner_client import OwnerClient, sign_in
from farebox.stellar.known_tokens import format_units

PLANS: Final = "/v1/automations"
_MODES: Final = {"open", "presigned", "mandate", "session"}
_POLLS: Final = 150
_POLL_S: Final = 0.2
_DUE_IN: Final = timedelta(seconds=0.5)  # it is proposed and activated in less


@dataclass(frozen=True, slots=True)
class PlanScene:
    """The parts of the demo that make a plan; the buyer's API key goes into `header`."""

    service_url: str
    automation: DemoAutomation
    buyer: Wallet
    header: Path

    @property
    def network(self) -> Network:
        """The network of the plan."""
        return self.automation.network


async def run_plan(scene: PlanScene, demo_log: DemoLog) -> str:
    """Make a key and a plan, and wait for its run; returns the hash of the run's transaction.

    Raises:
        LocalFault: a step does not do what it should.
    """
    program = await _make_key(scene)
    await _wait_until_available(scene, program)
    proposed = await program.post(PLANS, _plan(scene))
    path = f"{PLANS}/{proposed['proposal']['id']}"
    await program.post(f"{path}/payment", {})
    await program.post(f"{path}/activate", {})
    demo_log.step("the buyer's API key makes a plan: run the keeper contract once, for free here")
    run = await _wait_for_run(program, path)
    if run["state"] != "succeeded":
        raise LocalFault(f"The plan's run did not succeed: {run}")
    demo_log.step("the plan is due: the service runs the contract, and the run has succeeded")
    fee = format_units(int(run["feeStroops"]))
    demo_log.detail(
        f"transaction {run['transaction']} is in ledger {run['ledger']}; "
        f"the paymaster paid the fee of {fee} XLM"
    )
    return str(run["transaction"])


def _plan(scene: PlanScene) -> dict[str, object]:
    due_at = datetime.now(UTC) + _DUE_IN
    return {
        "kind": "contract_call",
        "network": scene.network.value,
        "title": "Run the keeper once",
        "schedule": {"type": "once", "at": due_at.isoformat()},
        "spec": {"contract": scene.automation.keeper, "autolayer": True, "effects": {}},
        "runLimit": 1,
    }


async def _make_key(scene: PlanScene) -> OwnerClient:
    """Sign in as the buyer, make an API key, and keep it as a header for curl."""
    session = await sign_in(scene.service_url, scene.network, scene.buyer)
    made = await session.post("/v1/api-keys", {"name": "demo", "scopes": ["read", "automation"]})
    key = Secret(str(made["key"]))
    scene.header.touch(mode=0o600)
    scene.header.write_text(f"Authorization: Bearer {key.reveal()}\n")
    return OwnerClient(scene.service_url, key)


async def _wait_until_available(scene: PlanScene, program: OwnerClient) -> None:
    """Wait until the service has seen the paymaster's channels and the contracts."""

    def is_available(limits: dict[str, Any]) -> bool:
        found = {each["network"]: each for each in limits["networks"]}[scene.network.value]
        return bool(found["isAvailable"]) and set(found["modes"]) >= _MODES

    await _poll(program, f"{PLANS}/limits", is_available)


async def _wait_for_run(program: OwnerClient, path: str) -> dict[str, Any]:
    def has_ended(runs: dict[str, Any]) -> bool:
        return any(run["finishedAt"] for run in runs["items"])

    (run,) = (await _poll(program, f"{path}/runs", has_ended))["items"]
    return dict(run)


async def _poll(
    program: OwnerClient, path: str, is_it: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    for _ in range(_POLLS):
        found = await program.get(path)
        if is_it(found):
            return found
        await asyncio.sleep(_POLL_S)
    raise LocalFault(f"GET {path} does not answer in time what the demo waits for.")
