"""A request and a listing read together, by what the model's upper layers learned for it.

Two vectors say what texts are about; whether one answers the other is seen only where each word of
the one may look at each of the other. The lower layers read both texts alone, as for their vectors,
and the upper ones both at once (a cross-encoder of which the lower half was taken apart).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file

from farebox.semantic.adapter import adapt
from farebox.semantic.arithmetic import Floats, unit
from farebox.semantic.layers import LAYERS, LOWER, layer_of, spans_of, through

LONGEST_REQUEST: Final = 64  # word pieces
LONGEST_LISTING: Final = 72
_HALF: Final = np.float32(0.5)


class Together:
    """The upper layers with what they learned; threads may share it."""

    def __init__(self, published: Mapping[str, Floats], learned: Path) -> None:
        tensors = dict(published)
        adapt(tensors, learned)
        self._layers = [layer_of(tensors, each) for each in range(LOWER, LAYERS)]
        own = {name: part.astype(np.float32) for name, part in load_file(learned).items()}
        self._beside, self._head = own["together.beside"], own["together.head"]
        self._shift, self._sharpness = own["together.shift"], own["together.sharpness"]

    def judge(self, request: Floats, listings: Sequence[Floats]) -> Floats:
        """The logarithm of the odds that each listing answers the request.

        Both are what came out of the lower layers, a row a word piece.
        """
        beside = [own + self._beside for own in listings]  # told apart from the request
        rows = np.concatenate([part for own in beside for part in (request, own)])
        spans = spans_of([len(request) + len(own) for own in listings])
        for layer in self._layers:
            rows = through(layer, rows, spans)
        asked = np.stack([rows[span][: len(request)].mean(axis=0) for span in spans])
        offered = np.stack([rows[span][len(request) :].mean(axis=0) for span in spans])
        first = np.stack([rows[span][0] for span in spans])
        odds: Floats = np.concatenate([asked, offered, first], axis=1) @ self._head
        likeness = np.einsum("ij,ij->i", unit(asked), unit(offered))
        odds += self._shift + self._sharpness * (likeness - _HALF)
        return odds
