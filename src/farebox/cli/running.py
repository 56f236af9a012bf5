"""Running a command's work, and turning what is away into one sentence and an exit code."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from farebox.cli.endings import Unavailable
from farebox.kernel.errors import Outage, Refusal
from farebox.local.faults import LocalFault

T = TypeVar("T")


def run(work: Coroutine[None, None, T]) -> T:
    """The result of `work`.

    Raises:
        Unavailable: something it needs is away or refuses.
    """
    try:
        return asyncio.run(work)
    except (Outage, Refusal) as error:
        raise Unavailable(sentence(error.message)) from error
    except LocalFault as error:
        raise Unavailable(str(error)) from error


def sentence(text: str) -> str:
    """The words with a capital at the start and a full stop at the end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
