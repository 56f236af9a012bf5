"""Several readings of one thing as one vector."""

from collections.abc import Sequence

import numpy as np

from farebox.semantic.arithmetic import Floats, unit
from farebox.semantic.encoder import Encoder


def read_together(encoder: Encoder, things: Sequence[Sequence[Sequence[str]]]) -> Floats:
    """A row of length one for each thing, from its sides, each the mean of that side's texts.

    A thing has at least one side, a side at least one text; a text that stands twice is read once.
    """
    texts = list(dict.fromkeys(text for sides in things for side in sides for text in side))
    places = {text: place for place, text in enumerate(texts)}
    rows = encoder.encode(texts)
    made = np.zeros((len(things), encoder.dimensions), dtype=np.float32)
    for place, sides in enumerate(things):
        for side in sides:
            made[place] += unit(rows[[places[text] for text in side]].mean(axis=0, keepdims=True))[
                0
            ]
    return unit(made)
