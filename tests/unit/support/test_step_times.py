"""The times in the report of `make test`."""

from support.step_times import describe_steps


def test_describe_steps_names_each_step_and_the_sum() -> None:
    line = describe_steps("lint=9 cargo=3", began=1_000.0, pytest_began=1_013.0, now=1_500.4)
    assert line == "lint 9 s, cargo 3 s, pytest 487 s, all 500 s"


def test_describe_steps_without_steps_names_pytest_and_the_sum() -> None:
    assert describe_steps("", began=1.0, pytest_began=1.0, now=3.0) == "pytest 2 s, all 2 s"
