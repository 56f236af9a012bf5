"""The bytes of incomplete requests: who is ended when there are too many."""

from farebox.web.held_bytes import HeldBytes


class _Room:
    """Room for 100 bytes; holders are names, and those in `fixed` cannot be ended."""

    def __init__(self, *fixed: str) -> None:
        self.fixed, self.ended = fixed, list[str]()
        self.bytes = HeldBytes[str](100, self._end)

    def _end(self, holder: str) -> bool:
        if holder in self.fixed:
            return False
        self.ended.append(holder)
        return True


def test_oldest_of_the_client_that_holds_most_is_ended() -> None:
    room = _Room()
    room.bytes.add("honest", 10, "203.0.113.7")
    for number in range(4):
        room.bytes.add(f"greedy {number}", 25, "198.51.100.9")
    assert room.ended == ["greedy 0", "greedy 1"]  # until a quarter is free


def test_several_large_clients_are_ended_before_a_small_one() -> None:
    room = _Room()
    room.bytes.add("honest", 10, "203.0.113.7")
    for client in "abc":
        room.bytes.add(client, 30, client)
    room.bytes.add("b again", 5, "b")
    assert room.ended == ["b"]
    for number in range(20):
        room.bytes.add(f"more {number}", 10, f"{number % 3}")
    assert "honest" not in room.ended


def test_holder_that_cannot_be_ended_is_passed_over() -> None:
    room = _Room("first", "alone")
    room.bytes.add("alone", 45, "198.51.100.9")
    room.bytes.add("first", 20, "203.0.113.7")
    room.bytes.add("second", 20, "203.0.113.7")
    room.bytes.add("third", 20, "203.0.113.7")
    assert room.ended == ["second", "third"]


def test_bytes_that_are_replaced_or_released_are_not_counted() -> None:
    room = _Room()
    for _ in range(20):
        room.bytes.replace("head", 90, "203.0.113.7")
    room.bytes.replace("head", 0, "203.0.113.7")
    assert not room.bytes
    for number in range(20):
        room.bytes.add(f"{number}", 90, "203.0.113.7")
        room.bytes.release(f"{number}")
        room.bytes.release("never counted")
    assert (room.ended, bool(room.bytes)) == ([], False)
