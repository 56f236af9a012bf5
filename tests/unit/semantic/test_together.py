"""A request and listings read together: what answers is told from what is only near."""

import numpy as np
import pytest

from farebox.semantic.encoder import Encoder, load_encoder
from farebox.semantic.layers import exact
from farebox.semantic.minilm import MiniLm
from farebox.semantic.weights import ModelMissing, find_model, find_published

ASKED = "pay my water bill"
PAYS = "utilities, bills. Pays a water, gas or electricity bill of your provider by its number"
TESTS = "water, quality. Lead, nitrate and hardness of drinking water by postcode"
OTHER = "chess. The best move in a chess position, by an engine"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    found = load_encoder()
    assert found is not None, "scripts/setup installs the model"
    return found


def test_what_answers_is_surer_than_what_is_near_and_that_than_anything_else(
    encoder: Encoder,
) -> None:
    pays, tests, other = encoder.together(ASKED, [PAYS, TESTS, OTHER]).tolist()
    assert pays > tests + 0.5
    assert tests > other


def test_neighbours_of_any_length_change_nothing(encoder: Encoder) -> None:
    texts = [PAYS, "a", TESTS * 9, "", OTHER]
    together = encoder.together(ASKED, texts)
    alone = [encoder.together(ASKED, [text])[0] for text in texts]
    np.testing.assert_allclose(together, alone, atol=2e-5)


def test_small_numbers_say_nearly_what_exact_ones_say(encoder: Encoder) -> None:
    listings = [PAYS, TESTS, OTHER]
    told = encoder.together(ASKED, listings)
    exactly = MiniLm(find_model(), reading=exact).together(ASKED, listings)
    assert not np.array_equal(told, exactly)
    np.testing.assert_allclose(told, exactly, atol=0.6)


def test_what_follows_the_first_pieces_is_not_read(encoder: Encoder) -> None:
    head = "water " * 80
    cut, whole = encoder.together(ASKED, [head, head + "chess " * 5000])
    assert cut == pytest.approx(whole, abs=2e-5)
    (same,) = encoder.together(head + "chess", [PAYS])
    assert same == pytest.approx(encoder.together(head, [PAYS])[0], abs=2e-5)


@pytest.mark.parametrize("text", ["", " \t", "☃ 🚀 \u202e", "\x00\x01", "\ud800", "日本の天気"])
def test_any_text_has_odds(encoder: Encoder, text: str) -> None:
    assert np.isfinite(encoder.together(text, [PAYS, text])).all()


def test_the_model_as_published_cannot() -> None:
    with pytest.raises(ModelMissing, match="together"):
        MiniLm(find_published()).together(ASKED, [PAYS])
