"""What a module reaches through its imports, however deep: no store, no HTTP client, no SDK."""

import ast

from architecture.test_imports import PACKAGE, imported_names


def _reached_from(start: str) -> set[str]:
    """The modules of ours that a module imports, directly or through others, and itself."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        path = PACKAGE.parent / (module.replace(".", "/") + ".py")
        if module in reached or not path.is_file():
            continue
        reached.add(module)
        waiting += [name for name in imported_names(path) if name.startswith("farebox.")]
    assert start in reached
    return reached


def test_verification_cannot_reach_anything_that_writes() -> None:
    """`/verify` writes nothing: neither it nor what it imports knows the store or the database."""
    reached = _reached_from("farebox.facilitator.verification.verify")
    assert {name for name in reached if "store" in name or "storage" in name} == set()


def test_browsing_cannot_reach_the_http_client() -> None:
    """Reading listings fetches nothing; only the client of origins can."""
    client = "farebox.outbound.client"
    for module in ("browse", "query_string", "store"):
        assert client not in _reached_from(f"farebox.catalog.browsing.{module}")
    assert client in _reached_from("farebox.catalog.origin.http_origin_client")


def test_service_loads_the_sdk_only_when_sign_in_is_configured() -> None:
    """It takes a second of processor time: longer than all the rest of a start."""
    reached: set[str] = set()
    waiting = ["farebox.app.asgi"]
    while waiting:
        module = waiting.pop()
        path = PACKAGE.parent / (module.replace(".", "/") + ".py")
        if module in reached or not path.is_file():
            continue
        reached.add(module)
        for node in ast.parse(path.read_text()).body:  # what is loaded with the module itself
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                waiting += [f"{node.module}", *(f"{node.module}.{a.name}" for a in node.names)]
            assert "stellar_sdk" not in " ".join(waiting), module
    assert "farebox.app.sign_in_services" in reached
