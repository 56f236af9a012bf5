"""No path of a buyer leaves the base path of the upstream, in whichever way it is decoded."""

import posixpath
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.relay.upstream_url import is_path_confined

BASE = "/base"
DECODINGS = 6
pieces = st.sampled_from(
    ["/", "//", ".", "..", "a", "%2e", "%2E", "%252e", "%2f", "%252F", "\\", "%5c", "%255c", ";",
     "%3b", "%00", "%25", "25", "2e", " ", "?", "\u2024", "%c0%ae", "x;y"]
)  # fmt: skip
paths = st.lists(pieces, max_size=8).map("".join).map(lambda text: f"/{text}")


@given(paths)
def test_confined_path_stays_below_the_base_path_however_it_is_decoded(path: str) -> None:
    if not is_path_confined(path):
        return
    for _ in range(DECODINGS):
        for reading in (path, path.replace("\\", "/"), _without_parameters(path)):
            resolved = posixpath.normpath(BASE + reading)
            assert resolved == BASE or resolved.startswith(f"{BASE}/")
        path = unquote(path, errors="surrogateescape")


def _without_parameters(path: str) -> str:
    return "/".join(segment.partition(";")[0] for segment in path.split("/"))
