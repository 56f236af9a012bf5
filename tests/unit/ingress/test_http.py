"""The rate limits of routes and their settings."""

import pytest

from farebox.app.asgi import create_app
from farebox.app.configuration import SettingsRefused, read_settings
from farebox.ingress.http import Rates
from farebox.ingress.rate_limiter import RateLimit
from farebox.web.endpoint import Rate, RateClass

DISCOVERY = Rate(RateClass.DISCOVERY)
MANAGEMENT = Rate(RateClass.MANAGEMENT)
SIMULATED = Rate(RateClass.MANAGEMENT, cost=5)
CLASSES = {
    "/verify": Rate(RateClass.VERIFY),
    "/settle": Rate(RateClass.SETTLE),
    "/discovery/search": Rate(RateClass.DISCOVERY, cost=3),
    "/discovery/resources": DISCOVERY,
    "/discovery/merchant": DISCOVERY,
    "/v1/discovery/validate": DISCOVERY,
    "/v1/settlements/{transaction}": DISCOVERY,
    "/v1/payments/{transaction}": DISCOVERY,
    "/v1/payments/prepare": DISCOVERY,
    "/v1/payments/complete": DISCOVERY,
    "/v1/networks": DISCOVERY,
    "/v1/accounts/{network}/{address}": Rate(RateClass.DISCOVERY, cost=5),
    "/v1/contracts/{network}/{contract}": Rate(RateClass.DISCOVERY, cost=5),
    "/mcp": Rate(RateClass.DISCOVERY, cost=3),
    "/llms.txt": DISCOVERY,
    "/v1/skills": DISCOVERY,
    "/v1/skills/{slug}/spec": DISCOVERY,
    "/v1/skills/{slug}/versions": DISCOVERY,
    "/v1/skills/{slug}/SKILL.md": DISCOVERY,
    "/v1/skills/{slug}/mcp-tools.json": DISCOVERY,
    "/v1/skills/{slug}/openapi.json": DISCOVERY,
    "/openapi.json": DISCOVERY,
    "/.well-known/x402": DISCOVERY,
    "/v1/automations/preview": SIMULATED,
    "/v1/automations/{id}/preflight": SIMULATED,
    "/supported": None,
    "/v1/errors": None,
    "/v1/openapi.json": None,
    "/health/live": None,
    "/health/ready": None,
}


def rates(**given: str) -> Rates:
    names = {f"FAREBOX_RATE_{name}": value for name, value in given.items()}
    return read_settings(names, needs_network=False).ingress.rates


def test_every_route_declares_its_rate_class() -> None:
    named = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    endpoints = create_app(read_settings(named, needs_network=False)).endpoints
    declared = {each.route.path: each.route.rate for each in endpoints}
    assert declared == dict.fromkeys(declared, MANAGEMENT) | CLASSES


def test_default_rates_are_600_per_address_6000_for_the_gateway_and_6000_per_key() -> None:
    found = rates()
    assert found.per_key == dict.fromkeys(RateClass, 6_000)
    assert found.per_address == dict.fromkeys(RateClass, 600) | {RateClass.GATEWAY: 6_000}


def test_rate_of_a_class_overrides_the_rate_of_all_classes() -> None:
    found = rates(PER_ADDRESS="0", VERIFY_PER_ADDRESS="7", GATEWAY_PER_KEY="9")
    assert found.per_address == dict.fromkeys(RateClass, 0) | {RateClass.VERIFY: 7}
    assert found.per_key == dict.fromkeys(RateClass, 6_000) | {RateClass.GATEWAY: 9}
    with pytest.raises(SettingsRefused, match="FAREBOX_RATE_SETTLE_PER_KEY"):
        rates(SETTLE_PER_KEY="many")


def test_rates_are_counted_apart_per_class_and_per_address_or_key() -> None:
    found = rates(SETTLE_PER_ADDRESS="5")
    limits = [found.limit(each, is_client=is_c) for each in RateClass for is_c in (True, False)]
    assert len({limit.action for limit in limits}) == 2 * len(RateClass)
    assert found.limit(RateClass.SETTLE, is_client=True) == RateLimit("settle address", 5)
    assert found.guesses == RateLimit("guess", 600)
