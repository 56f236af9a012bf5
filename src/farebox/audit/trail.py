"""What is written of a management action: who did what to which record, and in which request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.kernel.caller import Caller
from farebox.kernel.pages import Place


class Action(StrEnum):
    """Every action that leaves a trace."""

    SIGNED_IN = "session.created"
    SIGNED_OUT = "session.revoked"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SECRET_CREATED = "secret.created"  # noqa: S105 - a name
    SECRET_ROTATED = "secret.rotated"  # noqa: S105 - a name
    SECRET_DELETED = "secret.deleted"  # noqa: S105 - a name


@dataclass(frozen=True, slots=True)
class Deed:
    """One action, without anything secret. `subject` is the id of the record it was done to."""

    caller: Caller
    action: Action
    subject: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Told:
    """A deed as the trail tells it; its words are those of the release that wrote it."""

    id: str
    actor: str  # session, key or operator
    actor_id: str | None  # which key or session
    action: str
    subject: str
    request_id: str
    done_at: datetime

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return self.done_at, self.id
