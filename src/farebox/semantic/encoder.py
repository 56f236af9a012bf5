"""Text to a vector of what it means, where the language model is installed."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import structlog

from farebox.semantic.weights import ModelMissing, find_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = structlog.get_logger(__name__)


class Encoder(Protocol):
    """Texts of like meaning get vectors of small angle; equal texts equal vectors."""

    @property
    def name(self) -> str:
        """Which model: vectors of another are of another space."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a row."""
        ...

    @property
    def words(self) -> frozenset[str]:
        """Common words and names as they are spelt, in lower case: some 20,000."""
        ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length one for each text, in order. It takes milliseconds: not for a loop."""
        ...

    def together(self, request: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """The logarithm of the odds that each listing's text answers the request.

        Some times dearer than a row of one text.
        """
        ...


def load_encoder() -> Encoder | None:
    """The language model, ready; None where it is not installed, and the log says what is wanting.

    It reads some 90 MB and takes a second: call it off the event loop.
    """
    # What numpy multiplies is small: threads of its own would take the other cores from others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from farebox.semantic.minilm import MiniLm

        encoder = MiniLm(find_model())
    except (ImportError, ModelMissing) as error:
        log.info("semantic.absent", reason=_reason(error))
        return None
    log.info("semantic.loaded", model=encoder.name)
    return encoder


def absence() -> str | None:
    """Why the language model cannot be used here, without loading it; None when it can."""
    try:
        import farebox.semantic.minilm  # noqa: F401 - whether it can be imported is the question

        find_model()
    except (ImportError, ModelMissing) as error:
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"the package {error.name or 'numpy'} is not installed"
    return str(error)
