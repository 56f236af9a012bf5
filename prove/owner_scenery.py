"""What owners of plans find on the network: an exchange, an oracle, a smart account, keepers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stellar_sdk import Keypair, scval

from farebox.local.devnet import Devnet, Party, Scene
from prove.world import NETWORK
from testing.automation_cases import SOLD, Place
from testing.automation_chain import AutomationChain
from testing.plan_service import Exchange, deploy_exchange, new_keeper
from testing.smart_accounts import Owner, external_signer

PAYERS: Final = 28  # of the scene; the first ones are those of the other cases
_FILLER, _GIVER = 2, 3  # their numbers
_SENDERS: Final = slice(4, 8)  # who sends what no service pays for
_OWNERS: Final = slice(8, PAYERS)
_KEEPERS: Final = 12
_GENERATION: Final = "d"  # of the smart account
_GIVEN: Final = 1_000 * SOLD  # to the smart account

# runs a command of the service with further settings; the settings that it printed
Command = Callable[[Sequence[str], Mapping[str, str]], Awaitable[Mapping[str, str]]]


@dataclass(eq=False, slots=True)
class OwnerScenery:
    """The parts that the owners' plans use; `put` fills what is empty."""

    signing: Keypair = field(default_factory=Keypair.random)  # of challenges
    settings: dict[str, str] = field(default_factory=dict)
    exchange: Exchange | None = None
    keepers: list[str] = field(default_factory=list)
    token_code: bytes = b""  # hash of the code of a token with manners
    account: Owner | None = None  # a smart account

    async def put(self, devnet: Devnet, scene: Scene, verifier: str, run: Command) -> None:
        """Deploy the exchange, keepers, the sign-in contract and a smart account."""
        chain = chain_of(devnet, scene)
        self.exchange = await deploy_exchange(chain, scene, key_of(scene.payers[_FILLER]))
        self.keepers = [await new_keeper(chain) for _ in range(_KEEPERS)]
        self.token_code = await chain.upload("mannered_token")
        own = Keypair.random()
        signers = scval.to_vec([external_signer(verifier, own)])
        account = await chain.deploy(f"smart_account_{_GENERATION}", signers)
        await chain.give(key_of(scene.payers[_GIVER]), scene.asset, account, _GIVEN)
        self.account = Owner(account, own, _GENERATION, verifier)
        signing = {"FAREBOX_AUTH_SIGNING_SECRET": self.signing.secret}
        printed = await run(("auth", "deploy", "--network", NETWORK.label), signing)
        router = {f"FAREBOX_SOROSWAP_ROUTER_{NETWORK.name}": self.exchange.router}
        self.settings = {**signing, **router, **printed}

    def place(self, scene: Scene, keeper: str) -> Place:
        """What a plan calls and pays; its keeper is its own."""
        exchange = self.exchange
        if exchange is None:
            raise LookupError("nothing was put on the network")
        payees = tuple(each.address for each in scene.payees)
        return Place(
            asset=scene.asset,
            native=scene.native,
            keeper=keeper,
            other_keeper=keeper,
            pair=exchange.pair,
            router=exchange.router,
            other_router=exchange.router,
            oracle=exchange.oracle,
            recipients=payees[1:3],
            stranger=payees[0],
        )


def chain_of(devnet: Devnet, scene: Scene) -> AutomationChain:
    """The network as programs of the public SDK use it, with accounts of their own."""
    return AutomationChain(devnet, scene, [key_of(each) for each in scene.payers[_SENDERS]])


def owners_of(scene: Scene) -> tuple[Party, ...]:
    """The accounts that own and pay for plans."""
    return scene.payers[_OWNERS]


def key_of(party: Party) -> Keypair:
    """The key of an account of the scene."""
    return Keypair.from_secret(party.secret.reveal())
