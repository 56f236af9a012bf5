"""The composition root: constructors only, top to bottom."""

from farebox.app.assembly import Services
from farebox.app.settings import Settings


def build_services(settings: Settings) -> Services:
    """Everything the service is made of, nothing of it running yet."""
    return Services(routes=[])
