"""Look up the tokens that listings are paid in."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import structlog

from farebox.catalog.tokens import store
from farebox.catalog.tokens.token import Token, identify_token
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.contract_instance import ContractCode, instance_key, read_contract_code
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_IDLE_S: Final = 15.0
_PAUSE_S: Final = 0.1  # between two full batches: payments have priority at the node
_BATCH: Final = 100  # within the limit of one RPC call
_MAX_AGE: Final = timedelta(hours=6)  # contract code may be upgraded, a reference changed

log = structlog.get_logger(__name__)


class TokenLookup:
    """A loop that looks up new tokens of listings soon, and known ones every few hours.

    Every replica may run it: the results agree.
    """

    def __init__(
        self, database: Database, nodes: Mapping[Network, SorobanRpc], clock: Clock
    ) -> None:
        self._database, self._nodes, self._clock = database, nodes, clock

    async def run(self) -> None:
        """Look up tokens, batch after batch."""
        while True:
            for network in self._nodes:
                try:
                    while await self.look_up_batch(network) == _BATCH:
                        await self._clock.sleep(_PAUSE_S)
                except DatabaseUnavailable:
                    log.warning("tokens.database_unavailable")
                except RpcUnavailable:
                    log.info("tokens.node_unavailable", network=network.value)
            await self._clock.sleep(_IDLE_S)

    async def look_up_batch(self, network: Network) -> int:
        """Look up a batch of a network's tokens; return the count.

        Raises:
            DatabaseUnavailable: nothing is stored.
            RpcUnavailable: the node did not answer; a later batch retries.
        """
        now = self._clock.now()
        async with self._database.connection() as db:
            assets = await store.find_outdated(
                db, network, checked_before=now - _MAX_AGE, limit=_BATCH
            )
        if not assets:
            return 0
        tokens = await self._look_up(network, assets)
        async with self._database.connection() as db:
            await store.upsert_tokens(db, network, tokens, at=now)
        return len(assets)

    async def _look_up(self, network: Network, assets: list[Address]) -> dict[Address, Token]:
        response = await self._nodes[network].ledger_entries(
            [instance_key(each) for each in assets]
        )
        data = {entry.key: entry.data for entry in response.entries}
        codes: dict[Address, ContractCode | None] = {}
        for asset in assets:
            entry = data.get(instance_key(asset))
            codes[asset] = read_contract_code(entry, asset) if entry is not None else None
        return {asset: identify_token(code, asset, network) for asset, code in codes.items()}
