"""What makes two payments' resources one listing: the key, unique together with the network."""

from farebox.catalog.discovery.canonical_url import MCP, CanonicalUrl
from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.kernel.addresses import Address


def http_key(url: CanonicalUrl, template: RouteTemplate | None) -> str:
    """The canonical URL, whatever the method; a template's shape in place of the path."""
    return str(url) if template is None else f"{url.scheme}://{url.authority}{template.shape}"


def tool_key(url: CanonicalUrl, tool_name: str, pay_to: Address) -> str:
    """The canonical URL and the tool's name, and for a URL that nobody owns the recipient."""
    key = f"{url}#{tool_name}"
    return f"{key}@{pay_to}" if url.scheme == MCP else key
