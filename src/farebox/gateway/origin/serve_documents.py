"""The origin documents as they are served: built again when an enabled wrapper has changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin.documents import (
    MAX_BYTES,
    ListedWrapper,
    OriginDocument,
    build_openapi,
    build_well_known,
)
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers import wrapper_store
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

FRESH_S: Final = 1.0
MAX_WRAPPERS: Final = 1_000  # the documents name these at most
MAX_SETTINGS_BYTES: Final = 4 * MAX_BYTES  # that are read; what is shown of them is shorter


class DocumentName(StrEnum):
    """The two documents."""

    OPENAPI = "/openapi.json"
    WELL_KNOWN = "/.well-known/x402"


@dataclass(frozen=True, slots=True)
class _Built:
    version: object
    documents: dict[DocumentName, OriginDocument]


class OriginDocuments:
    """Shows the enabled wrappers as of a second ago at most."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        gateway: GatewayUrl,
        version: str,
        *,
        contact: str | None = None,
    ) -> None:
        self._database, self._clock = database, clock
        self._gateway, self._version, self._contact = gateway, version, contact
        self._built: _Built | None = None
        self._checked_at = 0.0
        self._lock = asyncio.Lock()

    async def find(self, name: DocumentName) -> OriginDocument:
        """Return a document; requests at one time share the work.

        Raises:
            Outage: the wrappers cannot be read now.
        """
        async with self._lock:
            now = self._clock.monotonic()
            if self._built is None or now - self._checked_at >= FRESH_S:
                self._built = await self._build(self._built)
                self._checked_at = now
            return self._built.documents[name]

    async def _build(self, built: _Built | None) -> _Built:
        async with self._database.connection() as db:
            version = await wrapper_store.read_enabled_version(db)
            if built is not None and built.version == version:
                return built
            enabled, is_cut = await wrapper_store.list_enabled(
                db, limit=MAX_WRAPPERS, limit_bytes=MAX_SETTINGS_BYTES
            )
        documents = await asyncio.to_thread(self._build_documents, enabled, is_cut=is_cut)
        return _Built(version, documents)

    def _build_documents(
        self, enabled: Sequence[Wrapper], *, is_cut: bool
    ) -> dict[DocumentName, OriginDocument]:
        wrappers = [ListedWrapper(each.slug, each.settings, each.share) for each in enabled]
        version, contact = self._version, self._contact
        return {
            DocumentName.OPENAPI: build_openapi(
                wrappers, self._gateway, version=version, contact=contact, is_cut=is_cut
            ),
            DocumentName.WELL_KNOWN: build_well_known(wrappers, self._gateway, is_cut=is_cut),
        }
