"""Something to hand in where a log is wanted, which keeps what it was told."""


class RecordingLog:
    """Keeps every event with its fields."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **fields: object) -> None:
        """The event is kept."""
        self.events.append((event, fields))
