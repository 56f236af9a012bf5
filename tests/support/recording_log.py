"""A log that keeps its events for a test."""


class RecordingLog:
    """Keeps every event with its fields."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **fields: object) -> None:
        """Keep the event."""
        self.events.append((event, fields))
