"""The mark of the adversarial cases."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(id): the adversarial case that this test answers")
