"""The arrays that the language model is made of and handles."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Pieces = NDArray[np.int64]  # a text's pieces of words, by their numbers in the vocabulary
Tensors = Mapping[str, Floats]  # weights, by the names they are published under
