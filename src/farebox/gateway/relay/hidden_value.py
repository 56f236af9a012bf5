"""Keep an upstream's credential out of what buyers get."""

from collections.abc import AsyncIterator
from typing import Final

from farebox.kernel.secret import Secret

MIN_BYTES: Final = 6  # a shorter value may be part of any text by chance


class CredentialShown(Exception):
    """The response holds the credential that it was asked with."""


class HiddenValue:
    """A value that no response may show; None or a short one hides nothing.

    It is found as it stands, not in an encoding such as base64 or gzip.
    """

    def __init__(self, value: Secret[str] | None) -> None:
        text = "" if value is None else value.reveal()
        self._value = Secret(text.encode("latin-1", "replace") if len(text) >= MIN_BYTES else b"")

    def is_in(self, text: bytes) -> bool:
        """Whether a text holds the value."""
        value = self._value.reveal()
        return bool(value) and value in text

    async def watch(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts of a body; an end that may begin the value is held back.

        Raises:
            CredentialShown: the body holds the value; no part of it was yielded.
        """
        held = b""
        async for part in parts:
            text = held + part
            if self.is_in(text):
                raise CredentialShown
            held = self._possible_start(text)
            if passed := text[: len(text) - len(held)]:
                yield passed
        if held:
            yield held

    def _possible_start(self, text: bytes) -> bytes:
        """Return the longest end of the text that the value begins with."""
        value = self._value.reveal()
        if not value:
            return b""
        tail = text[-(len(value) - 1) :]
        at = tail.find(value[:1])
        while at >= 0:
            if value.startswith(tail[at:]):
                return tail[at:]
            at = tail.find(value[:1], at + 1)
        return b""
