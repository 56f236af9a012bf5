"""A gateway for a test, in front of a TLS upstream."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from farebox.facilitator.settlement import NotSettled
from farebox.gateway.relay.received_body import SPOOL_BYTES
from farebox.outbound.client import MAX_CALLS
from farebox.storage.pool import Database
from support.delivery_attempts import Attempt, attempts_of
from support.gateway import (
    GatewayBench,
    Opened,
    OutcomeOf,
    gateway,
    lands,
)
from support.gateway_payments import enabled_wrapper
from support.outbound import SELLER
from support.upstream import Answer as UpstreamAnswer


@pytest.fixture
def opened(database: Database, tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def open_gateway(
        *,
        outcome_of: OutcomeOf | None = None,
        answer: UpstreamAnswer | None = None,
        refusal: NotSettled | None = None,
        slots: int = MAX_CALLS,
        spool_bytes: int = SPOOL_BYTES,
        **members: Any,
    ) -> AsyncIterator[GatewayBench]:
        url = {"upstream_url": f"https://{SELLER}/base?own=1"}
        wrapper = await enabled_wrapper(database, **(url | members))
        async with gateway(
            database, tmp_path, wrapper, outcome_of or lands(database), answer=answer,
            refusal=refusal, slots=slots, spool_bytes=spool_bytes,
        ) as bench:  # fmt: skip
            yield bench

    return open_gateway


@pytest.fixture
def attempt(database: Database, tmp_path: Path) -> Attempt:
    return attempts_of(database, tmp_path)
