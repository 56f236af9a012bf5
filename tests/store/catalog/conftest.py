"""What reads settlements into listings, over an index that keeps what it is told."""

import pytest

from farebox.catalog.discovery.read import read_discovery
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.storage.pool import Database
from support.catalog_index import KeptIndex


@pytest.fixture
def index() -> KeptIndex:
    return KeptIndex()


@pytest.fixture
def ingestion(database: Database, index: KeptIndex) -> Ingestion:
    return Ingestion(database, index, read_discovery)
