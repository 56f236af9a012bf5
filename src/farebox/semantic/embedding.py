"""What goes into the first layer of the language model: a text's word pieces as rows of numbers."""

from pathlib import Path
from typing import Final

import numpy as np
from tokenizers import Tokenizer

from farebox.semantic.arrays import Floats, Pieces, Tensors

LONGEST: Final = 256  # word pieces of one text; what follows is not read
_MOST_CHARACTERS: Final = 4096  # of one text that are cut into word pieces at all


class Embedding:
    """A row a word piece, the beginning and the end of the text being pieces too."""

    def __init__(self, tokenizer: Path, tensors: Tensors) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        name = "embeddings."
        self._words = tensors[name + "word_embeddings.weight"]
        self._places: Floats = (
            tensors[name + "position_embeddings.weight"][:LONGEST]
            + tensors[name + "token_type_embeddings.weight"][0]
        )

    @property
    def words(self) -> frozenset[str]:
        """Words that are a piece of their own."""
        return frozenset(word for word in self._tokenizer.get_vocab() if word.isalpha())

    def pieces(self, text: str) -> Pieces:
        """Those of the text, by their numbers."""
        read = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()  # no lone surrogates
        return np.array(self._tokenizer.encode(read).ids, dtype=np.int64)

    def rows(self, pieces: Pieces) -> Floats:
        """`[piece, dimension]`, not yet normalised."""
        rows: Floats = self._words[pieces]
        rows += self._places[: len(pieces)]
        return rows


def cut(pieces: Pieces, longest: int) -> Pieces:
    """At most so many, the last of which says that the text ends."""
    return pieces if len(pieces) <= longest else np.append(pieces[: longest - 1], pieces[-1])
