"""`make eval EVAL=search-train`: the language model learns which request a listing answers.

Learns from `eval/data/training` alone: a tenth of the listings is kept aside and tells how well
near misses are told apart. `WRITE=1` writes what was learned over
`src/farebox/semantic/adapter.safetensors`; its digest in `farebox.semantic.weights`, and the number
of the generation beside it, are to be changed then. `PART=0.6` is the part of the change that is
taken.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eval.examples import read_examples
from farebox.semantic.minilm import MiniLm
from farebox.semantic.space import middles
from farebox.semantic.weights import ADAPTER, ModelFiles, ModelMissing, find_published
from testing.machine import RunFailed, say
from testing.report import run_and_report

try:
    from eval.layers import LOWER, Change, layers_of, write_changes
    from eval.learning import Reading, student
    from eval.lessons import ANSWERED, REQUESTS, Known, Lessons, requests_of
    from eval.lower import Lower
except ImportError as error:
    raise SystemExit(f"{error.name} is not installed: scripts/setup train installs it") from error

Rows = NDArray[np.float32]
_ROUNDS: Final = 3
_KEPT_ASIDE: Final = 10  # one of so many listings
_SEED: Final = 20_261_121
_PART: Final = 0.6  # of the whole change, less of which is forgotten
_TOLD_EVERY: Final = 10
_QUICK_LESSONS: Final = 2
_COMPARED: Final = 32  # texts read by the service's own code too
_MOST_APART: Final = 2e-3  # half precision on both ways


class Training:
    """The examples, as the model reads them before it learns and after."""

    def __init__(self, files: ModelFiles) -> None:
        self._examples = read_examples()
        self.passages = [example.passages for example in self._examples]
        self.requests = [text for example in self._examples for text in requests_of(example)]
        self.lower = Lower(files)
        self.lower.read([*self.requests, *(text for own in self.passages for text in own)])
        self.layers = layers_of(files, above=LOWER)
        self._reading = Reading(self.layers, self.lower)
        everything = range(len(self._examples))
        self.aside = [number for number in everything if number % _KEPT_ASIDE == 0]
        self.learned = [number for number in everything if number % _KEPT_ASIDE]

    def rows(self, changes: Sequence[Change] | None, texts: Sequence[str]) -> Rows:
        """A vector a text."""
        return self._reading.rows(changes, texts)

    def listings(self, changes: Sequence[Change] | None) -> Rows:
        """A vector a listing."""
        rows = self._reading.rows(changes, [text for own in self.passages for text in own])
        return middles(rows, [len(own) for own in self.passages])

    def known(self) -> Known:
        """What lies how near before anything is learned."""
        asked = self._reading.rows(None, self.requests)
        return Known.of(self._examples, self.listings(None), asked)

    def measure(self, changes: Sequence[Change] | None) -> dict[str, float]:
        """Of the listings kept aside: how often a request is nearer than a near miss, and first."""
        listings = self.listings(changes)[self.aside]
        places = [own * REQUESTS + each for own in self.aside for each in range(REQUESTS)]
        asked = self._reading.rows(changes, [self.requests[place] for place in places])
        likeness = (asked @ listings.T).reshape(len(self.aside), REQUESTS, -1)
        own = np.stack([likeness[number, :, number] for number in range(len(self.aside))])
        fits, near = own[:, :ANSWERED].ravel(), own[:, ANSWERED:].ravel()
        found = likeness[:, :ANSWERED].argmax(axis=2) == np.arange(len(self.aside))[:, None]
        return {
            "told_apart": round(float((fits[:, None] > near).mean()), 3),
            "found_first": round(float(found.mean()), 3),
        }


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether near misses are told apart better than before, and the figures.

    Raises:
        RunFailed: the language model is not installed.
    """
    began = time.monotonic()
    try:
        training = Training(find_published())
    except ModelMissing as error:
        raise RunFailed(f"{error}: scripts/setup dev installs the language model") from error
    before = training.measure(None)
    say(f"{len(training.learned)} listings to learn from, before: {before}")
    changes = await _learn(training, quick=quick)
    part = float(os.environ.get("PART", _PART))
    taken = [
        {
            name: own | {"wide": own["wide"] * part, "shift": own["shift"] * part}
            for name, own in change.items()
        }
        for change in changes
    ]
    after = training.measure(taken)
    digest, size, most_apart = _written(training, taken)
    figures: dict[str, object] = {
        "examples": len(training.passages),
        "learned_from": len(training.learned),
        "before": before,
        "after": after,
        "bytes": size,
        "most_apart": most_apart,
        "sha256": digest,
        "seconds": round(time.monotonic() - began, 1),
    }
    is_better = quick or after["told_apart"] > before["told_apart"]
    return is_better and most_apart < _MOST_APART, figures


async def _learn(training: Training, *, quick: bool) -> list[Change]:
    lessons = Lessons(training.known(), training.lower, training.learned, seed=_SEED)
    count = _QUICK_LESSONS if quick else _ROUNDS * lessons.per_round
    pupil = student(training.layers, lessons=count, seed=_SEED)
    learned, state = pupil.begin()
    number, began = 0, time.monotonic()
    while number < count:
        others = training.listings(learned["changes"])
        for lesson in lessons.round():
            learned, state, loss = pupil.learn(learned, state, lesson, others, number)
            number += 1
            await asyncio.sleep(0)  # may be stopped here
            if number % _TOLD_EVERY == 0 or number == count:
                say(f"lesson {number} of {count}: {loss:.3f}, {time.monotonic() - began:.0f} s")
            if number == count:
                break
        if number < count:
            say(f"listings kept aside: {training.measure(learned['changes'])}")
    changes: list[Change] = learned["changes"]
    return changes


def _written(training: Training, changes: Sequence[Change]) -> tuple[str, int, float]:
    """Digest and size of the file, and how far the service's reading is from what was learned.

    It is written in its place with WRITE=1.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / ADAPTER.name
        write_changes(changes, path)
        content = path.read_bytes()
        service = MiniLm(replace(find_published(), adapter=path))
    texts = training.requests[:_COMPARED]
    apart = np.abs(service.encode(texts) - training.rows(changes, texts)).max()
    if os.environ.get("WRITE") == "1":
        ADAPTER.write_bytes(content)
        say(f"{ADAPTER.name} is written")
    return hashlib.sha256(content).hexdigest(), len(content), round(float(apart), 5)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
