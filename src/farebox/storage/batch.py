"""Calls of one kind that come at the same time, carried out together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from farebox.storage.faults import DatabaseUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")
_MOST: Final = 256


class Batch(Generic[Item, Result]):
    """Gathers while one batch is being carried out; an idle one starts at once.

    `run` does all of its items or none, and answers in their order. When it fails for another
    reason than the database's being away, its items are done again one by one, so that one that
    cannot be done harms no other. A caller who leaves takes along only what was not begun.
    """

    def __init__(
        self, run: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, most: int = _MOST
    ) -> None:
        self._run, self._most = run, most
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Result:
        """What became of `item`.

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
                taken, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                taken = [each for each in taken if not each[1].done()]  # whose caller is there
                if taken:
                    await self._carry_out(taken)
        finally:
            self._worker = None
            # nobody is left waiting when the loop is stopped in the middle
            _fail([*taken, *self._waiting], DatabaseUnavailable("the work was broken off"))
            self._waiting.clear()

    async def _carry_out(self, taken: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        try:
            results = await self._run([item for item, _ in taken])
        except DatabaseUnavailable as outage:
            _fail(taken, outage)
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            if len(taken) == 1:
                _fail(taken, error)
            else:
                await self._one_by_one(taken)
        else:
            for (_, answer), result in zip(taken, results, strict=True):
                if not answer.done():
                    answer.set_result(result)

    async def _one_by_one(self, taken: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        for place, each in enumerate(taken):
            try:
                (result,) = await self._run([each[0]])
            except DatabaseUnavailable as outage:
                _fail(taken[place:], outage)
                return
            except Exception as error:  # noqa: BLE001 - whoever asked is told
                _fail([each], error)
            else:
                if not each[1].done():
                    each[1].set_result(result)


def _fail(taken: Sequence[tuple[object, "asyncio.Future[Result]"]], error: Exception) -> None:
    """Everyone gets the error; an outage as one of their own, since each raises it elsewhere."""
    for _, answer in taken:
        if answer.done():
            continue
        if isinstance(error, DatabaseUnavailable):
            own = DatabaseUnavailable(error.message)
            own.__cause__ = error
            answer.set_exception(own)
        else:
            answer.set_exception(error)
