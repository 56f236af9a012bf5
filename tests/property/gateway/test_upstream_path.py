"""No path of a buyer leaves the base path of the upstream, in whichever way it is decoded."""

import posixpath
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.upstream_url import is_path_confined

BASE = "/base"
DECODINGS = 6
pieces = st.sampled_from(
    ["/", "//", ".", "..", "a", "%2e", "%2E", "%252e", "%2f", "%252F", "\\", "%5c", "%255c", ";",
     "%3b", "%00", "%25", "25", "2e", " ", "?", "\u2024", "%c0%ae", "x;y", "%20", "+", "%", "%3F",
     "%23", "%c0%af", "%u002e", "|"]
)  # fmt: skip
paths = st.lists(pieces, max_size=8).map("".join).map(lambda text: f"/{text}")


@given(paths)
def test_confined_path_stays_below_the_base_path_however_it_is_decoded(path: str) -> None:
    if not is_path_confined(path):
        return
    for _ in range(DECODINGS):
        repaired = path.replace("\\", "/").replace("\udcc0\udcae", ".").replace("\udcc0\udcaf", "/")
        for reading in (path, repaired, _without_parameters(repaired), _without_end(repaired)):
            resolved = posixpath.normpath(BASE + _trimmed(reading))
            assert resolved == BASE or resolved.startswith(f"{BASE}/")
        path = unquote(path.replace("%u00", "%"), errors="surrogateescape")


def _without_parameters(path: str) -> str:
    return "/".join(segment.partition(";")[0] for segment in path.split("/"))


def _without_end(path: str) -> str:
    return path.partition("?")[0].partition("#")[0]


def _trimmed(path: str) -> str:
    return "/".join(segment.strip(" +") for segment in path.split("/"))
