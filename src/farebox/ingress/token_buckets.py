"""What one process knows by itself of who asks too often: it costs no call."""

from typing import Final

_MINUTE_S: Final = 60.0
_MOST_NAMES: Final = 50_000
_DUST: Final = 1e-6  # of a request: what sums of parts may lack


class _Bucket:
    """What a name has left, and when that was so."""

    __slots__ = ("closed_until", "left", "left_at")

    def __init__(self, left: float, left_at: float) -> None:
        self.left, self.left_at = left, left_at
        self.closed_until = 0.0

    def wait_s(self, most: int, now: float) -> float:
        """How long it takes until there is a request to take; 0 when there is one."""
        self.left = min(most + 1.0, self.left + (now - self.left_at) * most / _MINUTE_S)
        self.left_at = now
        if now < self.closed_until:
            return self.closed_until - now
        return 0.0 if self.left > 1 - _DUST else (1 - self.left) * _MINUTE_S / most


class TokenBuckets:
    """A minute's worth of requests for each name, refilled evenly; times are monotonic seconds.

    It is one request more, so that whoever counts for all processes is the first to refuse, and
    says for how long (`close`). Of more names than `most_names` the one that was used longest ago
    is forgotten: it begins anew.
    """

    def __init__(self, *, most_names: int = _MOST_NAMES) -> None:
        self._most_names = most_names
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str, *, most: int, now: float) -> float:
        """0 when the name had a request left and took it; else the seconds until it has one."""
        bucket = self._buckets.pop(name, None) or _Bucket(most + 1.0, now)
        self._buckets[name] = bucket  # the newest is last
        if len(self._buckets) > self._most_names:
            del self._buckets[next(iter(self._buckets))]
        wait_s = bucket.wait_s(most, now)
        if not wait_s:
            bucket.left -= 1
        return wait_s

    def close(self, name: str, *, until: float) -> None:
        """What was taken last is given back, and nothing is taken before `until`."""
        bucket = self._buckets.get(name)
        if bucket is not None:
            bucket.left += 1
            bucket.closed_until = max(bucket.closed_until, until)

    def wait_s(self, name: str, *, most: int, now: float) -> float:
        """What `take` would say; nothing is taken."""
        bucket = self._buckets.get(name)
        return 0.0 if bucket is None else bucket.wait_s(most, now)

    def __len__(self) -> int:
        return len(self._buckets)
