"""Audit events: who did what to which record, and in which request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.kernel.caller import Caller
from farebox.kernel.pages import Place


class Action(StrEnum):
    """The actions that the audit log records."""

    SIGNED_IN = "session.created"
    SIGNED_OUT = "session.revoked"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SECRET_CREATED = "secret.created"  # noqa: S105 - a name
    SECRET_ROTATED = "secret.rotated"  # noqa: S105 - a name
    SECRET_DELETED = "secret.deleted"  # noqa: S105 - a name
    SECRETS_RESEALED = "vault.rekeyed"
    WRAPPER_CREATED = "wrapper.created"
    WRAPPER_UPDATED = "wrapper.updated"
    WRAPPER_ENABLED = "wrapper.enabled"
    WRAPPER_DISABLED = "wrapper.disabled"
    WRAPPER_DELETED = "wrapper.deleted"
    PAYMENT_REFUNDED = "payment.refunded"
    NETWORK_STOPPED = "sponsor.stopped"
    NETWORK_STARTED = "sponsor.started"
    SETTLEMENT_ENDED = "settlement.ended"
    CHANNELS_CREATED = "channels.created"
    CHANNELS_DRAINED = "channels.drained"
    CHANNELS_RETIRED = "channels.retired"
    AUTOMATION_PROPOSED = "automation.proposed"
    LISTING_TAKEN_OVER = "listing.taken_over"
    PLAN_ACTIVATED = "automation.activated"
    PLAN_PAUSED = "automation.paused"
    PLAN_RESUMED = "automation.resumed"
    PLAN_CANCELLED = "automation.cancelled"
    PLAN_RUN_REPEATED = "automation.run_repeated"
    PLANS_CLOSED = "automation.closed"
    RUN_SEARCH_ENDED = "automation.search_ended"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An action by a caller; it holds nothing secret. `target` is the id of the changed record."""

    caller: Caller
    action: Action
    target: str
    request_id: str


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    """A stored audit event; its words are those of the release that wrote it."""

    id: str
    actor: str  # session, key, operator or service
    actor_id: str | None  # of the key or session
    action: str
    target: str
    request_id: str
    occurred_at: datetime

    @property
    def place(self) -> Place:
        """The entry's position in the list."""
        return self.occurred_at, self.id
