"""The prepared network and service of the proof of settlement, for tests that play its cases."""

from collections.abc import AsyncIterator

import pytest

from prove.world import World, open_world
from testing.machine import scratch_folder


@pytest.fixture(scope="session")
async def world() -> AsyncIterator[World]:
    """A prepared network and database, and the service ready to be forked."""
    with scratch_folder("fbx-test-") as folder:
        async with open_world(folder) as opened:
            yield opened
