"""The connection pools of a process and their shares (docs/decisions/0031)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.app.settings import HEALTH_CONNECTIONS, ConnectionSettings
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database

_MONEY_WAIT_S: Final = 5.0
_READ_WAIT_S: Final = 1.0  # then 503, which the caller may retry
_BACKGROUND_WAIT_S: Final = 10.0  # no caller waits for a loop
_STATEMENT_S: Final = 10.0
_READ_S: Final = 5.0
_HEALTH_S: Final = 2.0  # less than the deadline of a readiness check
_COUNT_S: Final = 1.0  # afterwards the limiter uses its own count
_CALLERS: Final = 4
_ACCOUNT_WAIT_S: Final = 5.0  # changes of one owner queue; each takes milliseconds
_LISTING_WAIT_S: Final = 2.0
_LISTING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools of a process, not open yet.

    The first four are pools, which forbid nesting. The rest are shares of them, so that no purpose
    can use up a pool.
    """

    money: Database  # for settlements and reconciliation
    reads: Database
    background: Database
    health: Database  # one connection, for the readiness check
    callers: Database  # of money: authentication, and what a buyer or an agent calls
    counting: Database  # of money: rate limits
    searching: Database  # of reads: browsing and searching
    accounts: Database  # of reads: sign-in, keys, secrets and the audit log
    listing: Database  # of background: the listings of what was settled
    runs: Database  # of background: the runs of plans
    upkeep: Database  # of background: counts, probes and retention

    @property
    def entered(self) -> Sequence[Database]:
        """The pools to enter, in their order."""
        return self.money, self.reads, self.background, self.health


def build_pools(url: Secret[str], sizes: ConnectionSettings) -> Pools:
    """Build the pools of a process."""

    def pool(name: str, connections: int, *, wait_s: float, statement_s: float) -> Database:
        return Database(
            url,
            connections=connections,
            wait_s=wait_s,
            statement_s=statement_s,
            name=f"farebox-{name}",
            is_pooled=sizes.is_pooled,
            forbids_nesting=True,
        )

    money = pool("money", sizes.money, wait_s=_MONEY_WAIT_S, statement_s=_STATEMENT_S)
    reads = pool("reads", sizes.reads, wait_s=_READ_WAIT_S, statement_s=_READ_S)
    background = pool(
        "background", sizes.background, wait_s=_BACKGROUND_WAIT_S, statement_s=_STATEMENT_S
    )
    health = pool("health", HEALTH_CONNECTIONS, wait_s=_HEALTH_S, statement_s=_HEALTH_S)
    most_reads = _share(sizes.reads)
    return Pools(
        money,
        reads,
        background,
        health,
        callers=money.share(
            min(_CALLERS, sizes.money // 2), wait_s=_MONEY_WAIT_S, within_s=_READ_S
        ),
        counting=money.share(1, wait_s=_COUNT_S, within_s=_COUNT_S),
        searching=reads.share(most_reads, wait_s=_READ_WAIT_S, within_s=2 * _READ_S),
        accounts=reads.share(most_reads, wait_s=_ACCOUNT_WAIT_S, within_s=2 * _READ_S),
        listing=background.share(
            _share(sizes.background), wait_s=_LISTING_WAIT_S, within_s=_LISTING_S
        ),
        runs=_work_share(background, _share(sizes.background)),
        upkeep=_work_share(background, sizes.background // 2),
    )


def _work_share(background: Database, connections: int) -> Database:
    """A share for work that no caller waits for."""
    return background.share(connections, wait_s=_BACKGROUND_WAIT_S, within_s=3 * _STATEMENT_S)


def _share(connections: int) -> int:
    """The largest share of a pool: two thirds, and never all."""
    return min(connections - 1, max(1, connections * 2 // 3))
