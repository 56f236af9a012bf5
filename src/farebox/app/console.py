"""The console: the files of its build, read once, with the headers that a browser holds them to."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from farebox.app.setting_rules import is_loopback_host
from farebox.kernel.errors import CommandRefused
from farebox.web.guard import Headers
from farebox.web.static_files import StaticFile

PACKAGED: Final = Path(__file__).parents[1] / "console_build"  # scripts/setup builds it
INDEX: Final = "index.html"
ASSETS: Final = "assets"
DEVELOPMENT_WALLET: Final = "development-wallet.js"  # of the demo: see farebox.local
_MEDIA: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_HASHED: Final = re.compile(r".+-[A-Za-z0-9_-]{8}\.[a-z0-9]+\Z")  # as Vite names them
_CHECKED: Final = "no-cache"  # kept, and asked for again with its entity tag
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Headers] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin-allow-popups"),  # Albedo signs in a window
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True, slots=True)
class Console:
    """The files by their path in a URL; none where the console is not built."""

    folder: Path
    files: dict[str, StaticFile] = field(default_factory=dict, repr=False)

    @property
    def summary(self) -> str:
        """A sentence for the operator."""
        if not self.files:
            return f"console: none, because {self.folder} has no {INDEX} (scripts/setup builds it)"
        size = sum(len(each.body) for path, each in self.files.items() if path != "/")
        return f"console: {len(self.files) - 1} files, {size // 1000} kB, served at /"


class DevelopmentWalletRefused(CommandRefused):
    """The development wallet would be served where money is real."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has the development wallet of a demo, whose keys everybody can read. It is "
            "served on this machine alone and with local networks alone: build the console again."
        )


def check_console(console: Console, rpc_urls: Iterable[str]) -> None:
    """Return if the console has no development wallet, or every node is on this machine.

    Raises:
        DevelopmentWalletRefused: it has, and a node is elsewhere or the build is the package's own.
    """
    if f"/{ASSETS}/{DEVELOPMENT_WALLET}" not in console.files:
        return
    is_local = all(is_loopback_host(urlsplit(url).hostname or "") for url in rpc_urls)
    if console.folder == PACKAGED or not is_local:
        raise DevelopmentWalletRefused(console.folder)


def read_console(folder: Path | None) -> Console:
    """Read the files of a build: its page and what is directly in its `assets` folder.

    None is the build in the package. Without a page nothing is served. Further files are left out,
    and so are those of a type that a console has no use for.
    """
    folder = folder or PACKAGED
    page = folder / INDEX
    if not page.is_file():
        return Console(folder)
    index = StaticFile(page.read_bytes(), _MEDIA[".html"], _CHECKED)
    files = {"/": index, f"/{INDEX}": index, **dict(_read_assets(folder / ASSETS))}
    return Console(folder, files)


def _read_assets(folder: Path) -> Iterator[tuple[str, StaticFile]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        media = _MEDIA.get(path.suffix)
        if media is not None and path.is_file():
            caching = _FOR_EVER if _HASHED.match(path.name) else _CHECKED
            yield f"/{ASSETS}/{path.name}", StaticFile(path.read_bytes(), media, caching)
