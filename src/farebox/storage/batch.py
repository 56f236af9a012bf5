"""Batches: concurrent calls of one kind are run together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from farebox.storage.faults import DatabaseUnavailable, LimitExceeded

Item = TypeVar("Item")
Result = TypeVar("Result")
_LIMIT: Final = 256


class Batch(Generic[Item, Result]):
    """Collects items while a batch runs; an item that finds none running starts one at once.

    `run` does all of its items or none, and returns results in their order. When it fails for
    another reason than a database that is away, its items are run one by one, so that an item
    that fails affects no other. A cancelled caller removes its item only before its batch starts.
    """

    def __init__(
        self, run: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, limit: int = _LIMIT
    ) -> None:
        self._run, self._limit = run, limit
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Result:
        """Run `item` in a batch and return its result.

        Raises:
            DatabaseUnavailable: as `run`: whether it took effect may be unknown.
        """
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        taken: list[tuple[Item, asyncio.Future[Result]]] = []
        try:
            while self._waiting:
                taken, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
                taken = [each for each in taken if not each[1].done()]  # not cancelled
                if taken:
                    await self._run_batch(taken)
        finally:
            self._worker = None
            # no caller is left waiting when the task is cancelled
            _fail([*taken, *self._waiting], DatabaseUnavailable("the batch was cancelled"))
            self._waiting.clear()

    async def _run_batch(self, taken: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        try:
            results = await self._run([item for item, _ in taken])
        except Exception as error:  # noqa: BLE001 - raised in the caller
            if _is_away(error) or len(taken) == 1:
                _fail(taken, error)
            else:
                await self._one_by_one(taken)
        else:
            for (_, answer), result in zip(taken, results, strict=True):
                if not answer.done():
                    answer.set_result(result)

    async def _one_by_one(self, taken: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        for index, each in enumerate(taken):
            try:
                (result,) = await self._run([each[0]])
            except Exception as error:  # noqa: BLE001 - raised in the caller
                if _is_away(error):
                    _fail(taken[index:], error)
                    return
                _fail([each], error)
            else:
                if not each[1].done():
                    each[1].set_result(result)


def _is_away(error: Exception) -> bool:
    """Whether no item can be run; a limit may be exceeded by one item alone."""
    return isinstance(error, DatabaseUnavailable) and not isinstance(error, LimitExceeded)


def _fail(taken: Sequence[tuple[object, "asyncio.Future[Result]"]], error: Exception) -> None:
    """Raise the error in every caller; each gets its own copy of an outage."""
    for _, answer in taken:
        if answer.done():
            continue
        if isinstance(error, DatabaseUnavailable):
            own = DatabaseUnavailable(error.message)
            own.__cause__ = error
            answer.set_exception(own)
        else:
            answer.set_exception(error)
