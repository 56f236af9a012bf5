import re
from pathlib import Path

from farebox.app.configuration import CONFIG_NAME, KNOWN

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
NETWORK = re.compile(r"_(TESTNET|PUBNET)\Z")


def test_every_setting_is_explained_to_the_operator_and_no_other() -> None:
    explained = set(re.findall(r"FAREBOX_[A-Z_]+(?:<NETWORK>)?", PAGE))
    assert explained == {NETWORK.sub("_<NETWORK>", name) for name in KNOWN} | {CONFIG_NAME}
