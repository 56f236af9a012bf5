import pytest

from farebox.app.configuration import SettingsRefused, read_settings
from farebox.app.services import build_services
from farebox.app.settings import ConnectionSettings
from farebox.storage.pool import Database

DATABASE = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
PREFIX = "FAREBOX_DATABASE_CONNECTIONS_"


def read(**given: str) -> ConnectionSettings:
    return read_settings(given, needs_network=False).connections


def test_service_has_twenty_connections_in_all_one_of_them_for_readiness() -> None:
    settings = read_settings(DATABASE, needs_network=False)
    opened = [each for each in build_services(settings).resources if isinstance(each, Database)]
    assert {each.name: each.connections for each in opened} == {
        "farebox-money": 10,
        "farebox-reads": 5,
        "farebox-background": 4,
        "farebox-health": 1,
    }
    assert settings.connections.total == sum(each.connections for each in opened) == 20


def test_pool_sizes_are_read_from_the_settings() -> None:
    chosen = read(**{PREFIX + "MONEY": "20", PREFIX + "READS": "2", PREFIX + "BACKGROUND": "500"})
    assert (chosen.money, chosen.reads, chosen.background, chosen.total) == (20, 2, 500, 523)


@pytest.mark.parametrize("pool", ["MONEY", "READS", "BACKGROUND"])
@pytest.mark.parametrize("size", ["1", "501", "0", "many", "2.5"])
def test_pool_size_out_of_range_is_refused(pool: str, size: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        read(**{PREFIX + pool: size})
    assert [str(each) for each in refused.value.faults] == [
        f"{PREFIX}{pool}: a whole number from 2 to 500"
    ]


def test_pooler_is_none_or_transaction() -> None:
    assert not read().is_pooled
    assert not read(FAREBOX_DATABASE_POOLER="none").is_pooled
    assert read(FAREBOX_DATABASE_POOLER="transaction").is_pooled
    with pytest.raises(SettingsRefused):
        read(FAREBOX_DATABASE_POOLER="session")
