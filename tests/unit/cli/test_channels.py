import click
import pytest

from farebox.cli.channels import AS_MANY_AS_FIT, ChannelCount


def test_channel_count_is_a_number_or_max() -> None:
    counts = ChannelCount(1, 1000)
    assert counts.convert("max", None, None) == AS_MANY_AS_FIT
    assert counts.convert("20", None, None) == 20
    for wrong in ("0", "1001", "many"):
        with pytest.raises(click.BadParameter):
            counts.convert(wrong, None, None)
