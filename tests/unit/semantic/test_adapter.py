"""What the model learned is laid into its weights, and nothing else takes its place."""

import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from structlog.testing import capture_logs

from farebox.semantic import weights
from farebox.semantic.adapter import PARTS, adapt
from farebox.semantic.arrays import Floats
from farebox.semantic.encoder import absence, load_encoder
from farebox.semantic.layers import LAYERS
from farebox.semantic.minilm import MiniLm
from farebox.semantic.weights import (
    ADAPTER,
    LEARNED,
    MODEL,
    TOGETHER,
    ModelMissing,
    find_model,
    find_published,
)

ASKED = "pay my water bill"
LISTINGS = ("Quality of drinking water by postcode: lead, nitrate, hardness", "Pays utility bills")


def _chance(*shape: int) -> Floats:
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32)


def test_a_change_is_added_to_what_a_part_computes(tmp_path: Path) -> None:
    part = "encoder.layer.4.output.dense"
    tensors = {f"{part}.weight": _chance(5, 9), f"{part}.bias": _chance(5), "other": _chance(3)}
    before = dict(tensors)
    change = {
        f"{part}.wide": _chance(5, 2).astype(np.float16),
        f"{part}.narrow": _chance(2, 9).astype(np.float16),
        f"{part}.shift": _chance(5).astype(np.float16),
    }
    save_file(change, tmp_path / "adapter")
    adapt(tensors, tmp_path / "adapter")
    row = _chance(9)
    wide, narrow, shift = (
        change[f"{part}.{each}"].astype(np.float32) for each in ("wide", "narrow", "shift")
    )
    beside = before[f"{part}.weight"] @ row + before[f"{part}.bias"] + wide @ (narrow @ row) + shift
    together = tensors[f"{part}.weight"] @ row + tensors[f"{part}.bias"]
    np.testing.assert_allclose(together, beside, atol=1e-5)
    assert tensors["other"] is before["other"]


@pytest.mark.parametrize("file", [ADAPTER, TOGETHER], ids=lambda file: file.stem)
def test_only_matrices_of_the_layers_are_changed(file: Path) -> None:
    published = load_file(find_published().weights)
    changed = {name.rpartition(".")[0] for name in load_file(file) if name.startswith("encoder.")}
    assert changed
    assert {name.split(".", 3)[3] for name in changed} == set(PARTS)
    assert {int(name.split(".", 3)[2]) for name in changed} <= set(range(LAYERS))
    assert all(f"{name}.weight" in published for name in changed)


def test_what_was_learned_tells_a_near_miss_from_what_is_asked() -> None:
    learned, published = MiniLm(find_model()), MiniLm(find_published())
    assert (learned.name, published.name) == (LEARNED, MODEL)

    def lead(model: MiniLm) -> float:
        asked, near, right = model.encode([ASKED, *LISTINGS])
        return float(asked @ right - asked @ near)

    assert lead(learned) > lead(published) + 0.05


@pytest.mark.parametrize("damage", ["gone", "other"])
@pytest.mark.parametrize("learned", ["ADAPTER", "TOGETHER"])
def test_without_what_was_learned_there_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learned: str, damage: str
) -> None:
    """Vectors of the model as published are of another space: words alone are better."""
    real: Path = getattr(weights, learned)
    file = tmp_path / real.name
    if damage == "other":
        file.write_bytes(real.read_bytes()[:-1] + b"\x01")
    monkeypatch.setattr(weights, learned, file)
    with pytest.raises(ModelMissing, match=re.escape(real.name)):
        find_model()
    assert real.name in str(absence())
    with capture_logs() as logs:
        assert load_encoder() is None
    assert [each["event"] for each in logs] == ["semantic.absent"]
