"""`/llms.txt`: its form, and its links."""

import re
from typing import Final

from farebox.app.api_reference import documented_routes
from farebox.kernel.networks import Network
from farebox.skills.agent_guide import agent_guide
from support.skills import SKILLS

ORIGIN: Final = "https://pay.example.com"
_LINK: Final = re.compile(r"\]\(([^)]*)\)")


def test_guide_has_title_summary_and_lists_of_links() -> None:
    page = agent_guide(SKILLS, ORIGIN, list(Network))
    lines = page.splitlines()
    assert lines[0] == "# Farebox"
    assert lines[2].startswith("> ")
    assert [line for line in lines if line.startswith("## ")] == [
        "## Start",
        "## Skills",
        "## Reference",
    ]
    assert "Networks served here: stellar:testnet, stellar:pubnet." in lines
    assert "none at present" in agent_guide(SKILLS, ORIGIN, [])


def test_links_lead_to_routes_of_this_service() -> None:
    links = _LINK.findall(agent_guide(SKILLS, ORIGIN, list(Network)))
    routes = {each.path for each in documented_routes()}
    assert {link.removeprefix(ORIGIN) for link in links} >= {"/mcp", "/openapi.json", "/v1/skills"}
    for link in links:
        assert link.startswith(f"{ORIGIN}/")
        path = link.removeprefix(ORIGIN).partition("?")[0]
        slugless = re.sub(r"^/v1/skills/[a-z0-9-]+/", "/v1/skills/{slug}/", path)
        assert slugless in routes, link
    assert sum("/SKILL.md" in link for link in links) == len(SKILLS)
