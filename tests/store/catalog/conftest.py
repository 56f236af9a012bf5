"""The ingestion of settlements into listings, with an index that keeps its documents."""

import pytest

from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.storage.pool import Database
from support.catalog_index import RecordingIndex
from support.listings import no_gateway


@pytest.fixture
def index() -> RecordingIndex:
    return RecordingIndex()


@pytest.fixture
def ingestion(database: Database, index: RecordingIndex) -> Ingestion:
    return Ingestion(database, index, DirectReader(), no_gateway())
