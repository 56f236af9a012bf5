"""A small build of a console, and the service with it and without any database."""

from pathlib import Path
from typing import Final

from farebox.app.asgi import Application, create_app
from farebox.app.configuration import read_settings
from support.asgi import AsgiClient

SCRIPT_PATH: Final = "/assets/index-Ab3_d-Fg.js"
SCRIPT: Final = b"console.log('a page of the tests');\n" * 100
PAGE: Final = b'<!doctype html><script type="module" src="%s"></script>' % SCRIPT_PATH.encode()
NO_DATABASE: Final = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"}


def write_console(folder: Path) -> Path:
    """Write a build into the folder, and files that are not served."""
    assets = folder / "assets"
    (assets / "nested").mkdir(parents=True)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "secret.txt").write_text("beside the page")
    (assets / "nested" / "deep.js").write_text("further down")
    (assets / "source-abcdefgh.map").write_text("of a type that is not served")
    (folder / SCRIPT_PATH.removeprefix("/")).write_bytes(SCRIPT)
    (assets / "early.js").write_text("named without a hash")
    (assets / "mark-abcdefgh.png").write_bytes(bytes(range(256)))
    return folder


def console_app(folder: Path) -> Application:
    """Build the service with the console of this folder; its database does not exist."""
    settings = NO_DATABASE | {"FAREBOX_CONSOLE_DIR": str(folder), "FAREBOX_SEARCH_SEMANTIC": "off"}
    return create_app(read_settings(settings, needs_network=False))


def console_client(folder: Path) -> AsgiClient:
    """Return a client of that service."""
    return AsgiClient(console_app(folder))
