"""`make eval EVAL=search-together`: the language model learns to read request and listing together.

Learns from `eval/data/training` and `eval/data/judged`; some listings and requests are kept aside
and tell how well what answers is told from what does not. `WRITE=1` writes what was
learned over `src/farebox/semantic/together.safetensors`; its digest in `farebox.semantic.weights`
is to be changed then. A round takes some 45 minutes on two cores; `ROUNDS=1` goes
through the pairs once. `ON=1` goes on from what is there and takes a part of what was learned,
`PART=0.3`.
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
from safetensors.numpy import load_file

from eval.examples import read_examples
from eval.metrics import told_apart
from eval.pairs import NO, YES, Pair, pairs_of, read_judged
from farebox.semantic.embedding import Embedding
from farebox.semantic.layers import exact
from farebox.semantic.minilm import MiniLm
from farebox.semantic.weights import TOGETHER, ModelFiles, ModelMissing, find_published
from testing.machine import RunFailed, say
from testing.report import run_and_report

try:
    import jax

    from eval.layers import layers_of, read_changes, write_changes
    from eval.reading_together import AT_ONCE, STRIDE, Batches, Learned, Published, Student
except ImportError as error:
    raise SystemExit(f"{error.name} is not installed: scripts/setup train installs it") from error

Rows = NDArray[np.float32]
_ROUNDS: Final = 2
_PART: Final = 0.3  # of what is learned where it goes on: less of what was known is forgotten
_SEED: Final = 20_261_121
_TOLD_EVERY: Final = 50
_QUICK_BATCHES: Final = 3
_COMPARED: Final = AT_ONCE  # pairs read by the service's own code too
_MOST_APART: Final = 0.05  # of logarithms of odds; half precision on both ways


class Training:
    """The pairs, and the texts as they go into the first layer."""

    def __init__(self, files: ModelFiles, *, seed: int) -> None:
        examples = read_examples()
        pairs = pairs_of(examples, read_judged())
        self.texts = [example.beside_request for example in examples]
        self.learned, self.aside = pairs.learned, pairs.aside
        tensors = load_file(files.weights)
        embedding = Embedding(files.tokenizer, tensors)
        self.batches = Batches(embedding, self.texts, seed=seed)
        scale, shift = (tensors[f"embeddings.LayerNorm.{each}"] for each in ("weight", "bias"))
        self.published = Published(layers_of(files), (scale, shift))

    def odds(self, student: Student, pairs: Sequence[Pair]) -> Rows:
        """The logarithm of the odds, a pair each."""
        found = [student.odds(batch) for batch in self.batches.in_order(pairs)]
        return np.concatenate(found)[: len(pairs)]

    def measure(self, student: Student) -> float:
        """Of the pairs kept aside: how often one that answers is surer than one that does not."""
        found = self.odds(student, self.aside).tolist()
        by_target: dict[float, list[float]] = {YES: [], NO: []}
        for odds, pair in zip(found, self.aside, strict=True):
            by_target.get(pair.target, []).append(odds)  # what is of some help is neither
        return told_apart(by_target[YES], by_target[NO])


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether answers are told from near misses better than by chance, and the figures.

    Raises:
        RunFailed: the language model is not installed.
    """
    began = time.monotonic()
    goes_on = os.environ.get("ON") == "1"
    seed = _SEED + goes_on  # another order
    try:
        training = Training(find_published(), seed=seed)
    except ModelMissing as error:
        raise RunFailed(f"{error}: scripts/setup dev installs the language model") from error
    say(f"{len(training.learned)} pairs to learn from, {len(training.aside)} kept aside")
    rounds = int(os.environ.get("ROUNDS", _ROUNDS))
    batches = _QUICK_BATCHES if quick else rounds * (len(training.learned) // AT_ONCE)
    before = _read() if goes_on else None
    student = Student(training.published, batches=batches, seed=seed, before=before)
    at_first = training.measure(student)
    await _learn(training, student, batches)
    if before is not None:
        part = float(os.environ.get("PART", _PART))
        student.learned = jax.tree.map(
            lambda old, new: old + part * (new - old), before, student.learned
        )
    after = training.measure(student)
    digest, size, most_apart = _written(training, student)
    figures: dict[str, object] = {
        "listings": len(training.texts),
        "pairs": len(training.learned),
        "aside": len(training.aside),
        "before": at_first,
        "after": after,
        "bytes": size,
        "most_apart": most_apart,
        "sha256": digest,
        "seconds": round(time.monotonic() - began, 1),
    }
    return (quick or after > at_first) and most_apart < _MOST_APART, figures


async def _learn(training: Training, student: Student, count: int) -> None:
    number, began = 0, time.monotonic()
    losses: list[float] = []
    while number < count:
        for batch in training.batches.round(training.learned):
            losses.append(student.learn(batch, number))
            number += 1
            await asyncio.sleep(0)  # may be stopped here
            if number % _TOLD_EVERY == 0 or number == count:
                loss = sum(losses) / len(losses)
                losses.clear()
                say(f"batch {number} of {count}: {loss:.3f}, {time.monotonic() - began:.0f} s")
            if number == count:
                break
        if number < count:
            say(f"pairs kept aside: {training.measure(student)}")


def _written(training: Training, student: Student) -> tuple[str, int, float]:
    """Digest and size of the file, and how far the service's reading is from what was learned.

    It is written in its place with WRITE=1.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / TOGETHER.name
        _write(student.learned, path)
        content = path.read_bytes()
        service = MiniLm(replace(find_published(), together=path), reading=exact)
    compared = training.aside[:_COMPARED]
    own = [service.together(each.request, [training.texts[each.listing]])[0] for each in compared]
    apart = np.abs(np.array(own) - training.odds(student, compared)).max()
    if os.environ.get("WRITE") == "1":
        TOGETHER.write_bytes(content)
        say(f"{TOGETHER.name} is written")
    return hashlib.sha256(content).hexdigest(), len(content), round(float(apart), 5)


def _read() -> Learned:
    changes, beside = read_changes(TOGETHER)
    learned = {name.partition(".")[2]: own for name, own in beside.items()}
    return learned | {"changes": changes, "apart": learned["apart"] / STRIDE}


def _write(learned: Learned, path: Path) -> None:
    beside = {name: own for name, own in learned.items() if name != "changes"}
    beside["apart"] = STRIDE * learned["apart"]
    named = {f"together.{name}": own for name, own in beside.items()}
    write_changes(learned["changes"], path, beside=named)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
