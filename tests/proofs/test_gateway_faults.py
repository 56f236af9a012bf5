"""Some cases of the proofs of delivery and of limits, and their controls."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from farebox.local.certificates import Authority
from prove import delivery, delivery_case, delivery_control, limits, limits_case
from prove.delivery_case import DeliveryCase, DeliveryFault, record_purchase
from prove.delivery_upstream import UpstreamFault
from prove.fork_server import ForkServer
from prove.interceptor import Boundary
from prove.limits_case import LimitsCase
from prove.world import World
from support.promises import promise

PAID, SENDING, DELIVERED = (
    "sql WITH paid AS", "rpc sendTransaction", "sql WITH ended AS ( UPDATE gateway_payments",
)  # fmt: skip


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(Path(tmp_path_factory.mktemp("tls")))


@pytest.fixture(scope="module")
async def timed(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The service with short leases."""
    sources = delivery_control.TIMED.write(Path(tmp_path_factory.mktemp("timed")))
    async with ForkServer(sources) as fork_server:
        yield replace(world, fork_server=fork_server)


@pytest.fixture(scope="module")
async def boundaries(timed: World, authority: Authority) -> list[Boundary]:
    return await record_purchase(timed, authority)


@promise("error:never-a-double-charge")
@pytest.mark.parametrize("label", [PAID, SENDING, DELIVERED])
async def test_killed_replica_loses_and_repeats_no_delivery(
    timed: World, authority: Authority, boundaries: list[Boundary], label: str
) -> None:
    at = next(each for each in boundaries if each.label.startswith(label))
    case = DeliveryCase(0, 1, at, DeliveryFault.KILL_AFTER)
    outcome = await delivery_case.run_case(timed, authority, case)
    assert (outcome.is_reached, outcome.findings) == (True, []), str(outcome)
    assert outcome.state == "delivered"


async def test_post_of_unknown_outcome_is_owed_and_not_repeated(
    timed: World, authority: Authority
) -> None:
    case = DeliveryCase(0, 2, upstream=(UpstreamFault.DROPS,), method="POST")
    outcome = await delivery_case.run_case(timed, authority, case)
    assert (outcome.state, outcome.findings) == ("owed", []), str(outcome)


@pytest.mark.parametrize("control", delivery_control.CONTROLS[:2], ids=lambda each: each.defect)
async def test_control_build_with_a_defect_of_delivery_is_detected(
    world: World, authority: Authority, tmp_path: Path, control: delivery_control.DeliveryControl
) -> None:
    async with ForkServer(control.build.write(tmp_path)) as fork_server:
        broken = replace(world, fork_server=fork_server)
        outcome = await delivery.run_either(authority, broken, control.cases[0])
    assert control.shows([outcome]), str(outcome)


@promise("wrapper:counters-across-replicas")
async def test_limits_hold_on_two_replicas(timed: World, authority: Authority) -> None:
    outcome = await limits_case.run_case(
        timed, authority, LimitsCase(0, 2, 4, 3, 2, killed_at=None, refused=0)
    )
    assert not outcome.is_failed, str(outcome)
    assert 1 <= outcome.landed <= 3


async def test_control_build_without_limits_is_detected(
    world: World, authority: Authority, tmp_path: Path
) -> None:
    (control, _) = limits.CONTROLS
    async with ForkServer(control.build.write(tmp_path)) as fork_server:
        broken = replace(world, fork_server=fork_server)
        outcome = await limits_case.run_case(broken, authority, control.cases[0])
    assert control.shows([outcome]), str(outcome)
