"""Look up what the tokens are that listings are paid in."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import structlog

from farebox.catalog.tokens import store
from farebox.catalog.tokens.token import Token, token_of
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.contract_instance import ContractCode, instance_key, read_contract_code
from farebox.stellar.rpc import RpcUnavailable, SorobanRpc
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_EVERY_S: Final = 15.0
_AT_ONCE: Final = 100  # within what a node answers in one call
_KNOWN_FOR: Final = timedelta(hours=6)  # code of its own may be upgraded, a reference swapped

log = structlog.get_logger(__name__)


class TokenLookup:
    """Every listed token is known soon after its first listing, and looked up again by the hour.

    Every replica may run it: they find the same.
    """

    def __init__(
        self, database: Database, nodes: Mapping[Network, SorobanRpc], clock: Clock
    ) -> None:
        self._database, self._nodes, self._clock = database, nodes, clock

    async def run(self) -> None:
        """Look tokens up for ever."""
        while True:
            for network in self._nodes:
                try:
                    while await self.turn(network) == _AT_ONCE:
                        await self._clock.sleep(0)
                except DatabaseUnavailable:
                    log.warning("tokens.database_away")
                except RpcUnavailable:
                    log.info("tokens.node_away", network=network.value)
            await self._clock.sleep(_EVERY_S)

    async def turn(self, network: Network) -> int:
        """Some tokens of a network are looked up; how many.

        Raises:
            DatabaseUnavailable: nothing is kept.
            RpcUnavailable: the node did not answer; they are still to be looked up.
        """
        now = self._clock.now()
        async with self._database.connection() as db:
            assets = await store.find_unknown(
                db, network, checked_before=now - _KNOWN_FOR, limit=_AT_ONCE
            )
        if not assets:
            return 0
        tokens = await self._look_up(network, assets)
        async with self._database.connection() as db:
            await store.put_tokens(db, network, tokens, at=now)
        return len(assets)

    async def _look_up(self, network: Network, assets: list[Address]) -> dict[Address, Token]:
        found = await self._nodes[network].ledger_entries([instance_key(each) for each in assets])
        data = {entry.key: entry.data for entry in found.entries}
        codes: dict[Address, ContractCode | None] = {}
        for asset in assets:
            held = data.get(instance_key(asset))
            codes[asset] = read_contract_code(held, asset) if held is not None else None
        return {asset: token_of(code, asset, network) for asset, code in codes.items()}
