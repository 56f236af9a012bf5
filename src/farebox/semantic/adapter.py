"""What the language model learned for the search: small changes of its layers' weights.

A change of a matrix is the product of two narrow ones. All of them are added to the weights when
the model is loaded, so that reading a text costs what it cost before.
"""

from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file

from farebox.semantic.arrays import Floats

# of the matrices that are changed; the names are the model's own
PARTS: Final = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)

_CHANGED: Final = "encoder."  # the parts of a file that are changes of the model's own


def adapt(tensors: dict[str, Floats], adapter: Path) -> None:
    """The model's tensors are those that were learned; none is written over in its place."""
    changes = load_file(adapter)
    changed = {each.rpartition(".")[0] for each in changes if each.startswith(_CHANGED)}
    for name in sorted(changed):
        wide, narrow, shift = (
            changes[f"{name}.{part}"].astype(np.float32) for part in ("wide", "narrow", "shift")
        )
        tensors[name + ".weight"] = tensors[name + ".weight"] + wide @ narrow
        tensors[name + ".bias"] = tensors[name + ".bias"] + shift
