"""What a service needs that runs plans: an exchange on the ledger, settings, deployed contracts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, scval

from farebox.kernel.secret import Secret
from farebox.local.devnet import Scene
from testing.automation_chain import NET, AutomationChain
from testing.commands import run_farebox
from testing.contracts import call
from testing.machine import ServedNetwork, say

LIQUIDITY: Final = 10**10  # so that a purchase moves the rate by little
PRICE: Final = 10**14  # the oracle's, of both tokens
RUN_PRICE: Final = 1_000  # base units of the asset
CHANNELS: Final = 8
_SUFFIX: Final = NET.name


@dataclass(frozen=True, slots=True)
class Exchange:
    """A pool of the scene's asset and the native coin, a router to it, and an oracle of both."""

    pair: str
    router: str
    oracle: str

    async def another_router(self, chain: AutomationChain) -> str:
        """Deploy a second router to the same pool."""
        return await _router(chain, self.pair)


async def deploy_exchange(chain: AutomationChain, scene: Scene, filler: Keypair) -> Exchange:
    """Deploy it, fill the pool from an account that has both tokens, and set both prices."""
    tokens = (scene.asset, scene.native)
    pair = await chain.deploy("pool", *(scval.to_address(each) for each in tokens))
    for token in tokens:
        await chain.give(filler, token, pair, LIQUIDITY)
    await chain.land(call(pair, "sync", ()))
    oracle = await chain.deploy("price_feed")
    at = scval.to_uint64(await chain.now())
    for token in tokens:
        named = scval.to_vec([scval.to_symbol("Stellar"), scval.to_address(token)])
        await chain.land(call(oracle, "set", (named, scval.to_int128(PRICE), at)))
    return Exchange(pair, await _router(chain, pair), oracle)


async def _router(chain: AutomationChain, pair: str) -> str:
    return await chain.deploy("router", scval.to_vec([scval.to_address(pair)]))


async def new_keeper(chain: AutomationChain, gap: int = 0) -> str:
    """Deploy a keeper that anybody may run, with so many seconds between two runs at least."""
    return await chain.deploy("keeper", scval.to_bool(False), scval.to_uint64(gap))


def plan_settings(
    scene: Scene, paymaster: Secret[str], revenue: str, router: str
) -> dict[str, str]:
    """Return the settings of a service that sells runs, without a limit of its budgets."""
    return {
        f"FAREBOX_PAYMASTER_SECRET_{_SUFFIX}": paymaster.reveal(),
        f"FAREBOX_AUTOMATION_BUDGET_OWNER_STROOPS_{_SUFFIX}": "0",
        f"FAREBOX_AUTOMATION_BUDGET_TOTAL_STROOPS_{_SUFFIX}": "0",
        f"FAREBOX_REVENUE_ACCOUNT_{_SUFFIX}": revenue,
        f"FAREBOX_RUN_ASSET_{_SUFFIX}": scene.asset,
        f"FAREBOX_RUN_PRICE_{_SUFFIX}": str(RUN_PRICE),
        f"FAREBOX_SOROSWAP_ROUTER_{_SUFFIX}": router,
    }


async def set_up_plans(
    served: ServedNetwork, settings: Mapping[str, str], folder: Path, *, with_sign_in: bool = False
) -> dict[str, str]:
    """Run the operator's commands; return the settings that they print.

    `with_sign_in` deploys the contract by which contract accounts sign in as well, and makes
    channels of the relayer.
    """
    say("deploying the contracts of sessions: farebox automation deploy")
    label = ("--network", NET.label)
    found: dict[str, str] = {}
    for group in ("auth", "automation") if with_sign_in else ("automation",):
        printed = await run_farebox((group, "deploy", *label), _own(served, settings, folder))
        found |= dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    say(f"creating {CHANNELS} channels of the paymaster")
    for purpose in ("automation", "settlement") if with_sign_in else ("automation",):
        await create_channels(served, settings, folder, purpose, CHANNELS)
    return found


async def create_channels(
    served: ServedNetwork, settings: Mapping[str, str], folder: Path, purpose: str, count: int
) -> None:
    """Create so many channels by the operator's command."""
    create = ("channels", "create", "--for", purpose, "--count", str(count))
    await run_farebox((*create, "--network", NET.label), _own(served, settings, folder))


def _own(served: ServedNetwork, settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    return {**settings, **served.settings(), "FAREBOX_DATA_DIR": str(folder)}
