"""Write the table of settings to the operators' page: `scripts/docs`."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from farebox.app.configuration import KNOWN
from farebox.app.setting_fields import PREFIX, Setting

_BEGIN: Final = "<!-- settings: written by scripts/docs -->\n"
_END: Final = "<!-- end of settings -->\n"


def with_reference(page: str) -> str:
    """Replace the table of settings in the page."""
    before, _, rest = page.partition(_BEGIN)
    after = rest.partition(_END)[2]
    settings = {setting.name: setting for setting, _ in KNOWN.values()}
    rows = ["| name | value | default | |", "|---|---|---|---|", *map(_row, settings.values())]
    table = "\n".join(rows)
    return f"{before}{_BEGIN}\n{table}\n\n{_END}{after}"


def _row(setting: Setting) -> str:
    value = setting.rule.accepts.replace("<", "\\<") + "; secret" * setting.rule.is_secret
    about = ". ".join([setting.about, *_dependencies(setting)])
    return f"| `{PREFIX}{setting.name}` | {value} | {_default(setting)} | {about} |"


def _default(setting: Setting) -> str:
    if not isinstance(setting.default, Mapping):
        absent = "needed" if setting.is_required else setting.absent or "none"
        return f"`{setting.default}`" if setting.default else absent
    by_text: dict[str, list[str]] = {}
    for key, text in setting.default.items():
        by_text.setdefault(text, []).append(key.name)
    return ", ".join(f"`{text}` ({', '.join(keys)})" for text, keys in by_text.items())


def _dependencies(setting: Setting) -> Iterator[str]:
    if setting.fallback:
        yield f"Without it {_names([setting.fallback])} holds"
    if setting.at_most:
        yield f"No more than {_names([setting.at_most])}"
    if setting.differs_from:
        yield f"Differs from {_names(setting.differs_from)}"
    if setting.needs:
        yield f"Without {_names(setting.needs)} it must be {setting.instead}"
    if setting.is_local:
        yield "For demos and tests: on a loopback bind only"


def _names(names: Iterable[str]) -> str:
    return " or ".join(f"`{PREFIX}{name}`" for name in names)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_reference(page.read_text()))
