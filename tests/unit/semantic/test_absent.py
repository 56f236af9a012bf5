"""Without the model the service goes without it, and says why."""

import sys
from pathlib import Path

import pytest

from farebox.semantic import weights
from farebox.semantic.encoder import absence, load_encoder
from farebox.semantic.weights import ModelMissing, find_model


def test_a_model_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    assert load_encoder() is None
    assert absence() == "the package no-such-package is not installed"


@pytest.mark.parametrize("library", ["numpy", "onnx", "onnxruntime", "tokenizers", "safetensors"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    for name in [each for each in sys.modules if each.startswith("farebox.semantic.")]:
        if name.rpartition(".")[2] not in ("encoder", "weights"):
            monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if each.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    assert load_encoder() is None
    assert library in str(absence())


def test_weights_that_were_touched_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = find_model()
    folder = tmp_path / "another_model" / "model"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes(real.tokenizer.read_bytes())
    (folder / "model.safetensors").write_bytes(real.weights.read_bytes()[:-1] + b"\x00")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(weights, "PACKAGE", "another_model")
    with pytest.raises(ModelMissing, match=r"model\.safetensors is not the file"):
        find_model()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelMissing, match="cannot be read"):
        find_model()
