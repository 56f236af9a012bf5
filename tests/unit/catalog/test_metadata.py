"""The metadata of a resource: each field is bounded, and an invalid one is dropped alone."""

import pytest

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import FieldDropped
from farebox.catalog.discovery.metadata import MAX_DESCRIPTION, read_icon_url, read_metadata
from farebox.catalog.discovery.outside_text import clean_text
from support.discovery import SELLER, discovery, tool_info


def test_valid_metadata_is_kept() -> None:
    resource: dict[str, object] = {
        "description": "Weather for any city, now and for a week.",
        "mimeType": "application/json; charset=utf-8",
        "serviceName": "Weather & more",
        "tags": ["weather", "Forecast"],
        "iconUrl": "https://cdn.weather.example/icon.png?v=2",
    }
    metadata, dropped = read_metadata(resource)
    assert dropped == ()
    assert metadata.description == resource["description"]
    assert metadata.mime_type == resource["mimeType"]
    assert metadata.service_name == resource["serviceName"]
    assert metadata.tags == ("weather", "Forecast")
    assert metadata.icon_url == resource["iconUrl"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("description", 7),
        ("mimeType", "no type"),
        ("mimeType", "text/html\r\nX: y"),
        ("mimeType", ["text/html"]),
        ("serviceName", "x" * 33),
        ("serviceName", "Wetter für alle"),
        ("serviceName", "a\nb"),
        ("serviceName", {"x": 1}),
        ("tags", "weather"),
        ("tags", ["x" * 33]),
        ("tags", ["ok", 7]),
        ("tags", ["a", "b", "c", "d", "e", "f"]),
        ("iconUrl", "http://localhost/x"),
    ],
)
def test_invalid_field_is_dropped_alone_and_named(field: str, value: object) -> None:
    resource: dict[str, object] = {"description": "d", "serviceName": "s", "tags": ["t"]}
    found = parse_discovery(discovery(resource={**resource, field: value}), pay_to=SELLER)
    assert isinstance(found, DiscoveredResource)
    assert [each.field for each in found.dropped] == [field]
    kept = found.resource.metadata
    assert (kept.description == "d", kept.service_name == "s") == (
        field != "description",
        field != "serviceName",
    )


def test_empty_fields_are_not_reported_as_dropped() -> None:
    empty: dict[str, object] = {
        "description": "",
        "mimeType": "",
        "serviceName": None,
        "tags": [],
        "iconUrl": "",
    }
    metadata, dropped = read_metadata(empty)
    assert dropped == ()
    assert metadata == read_metadata({})[0]


def test_tags_are_unique_and_at_most_five() -> None:
    tags = ["Weather", "b", "weather", " ", "WEATHER", "c", "d", "e", "f"]
    metadata, dropped = read_metadata({"tags": tags})
    assert metadata.tags == ("Weather", "b", "c", "d", "e")
    assert dropped == (FieldDropped("tags", "are cut after 5."),)


def test_long_description_is_cut_and_reported() -> None:
    metadata, dropped = read_metadata({"description": "word " * 200})
    assert metadata.description is not None
    assert len(metadata.description) <= MAX_DESCRIPTION
    assert [each.field for each in dropped] == ["description"]


def test_description_falls_back_to_that_of_the_tool() -> None:
    info = tool_info(description="Finds the weather.")
    found = parse_discovery(discovery(info=info), pay_to=SELLER)
    assert isinstance(found, DiscoveredResource)
    assert found.resource.metadata.description == "Finds the weather."
    named = parse_discovery(discovery(info=info, resource={"description": "Mine."}), pay_to=SELLER)
    assert isinstance(named, DiscoveredResource)
    assert named.resource.metadata.description == "Mine."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\r\n\tb\x00c", "a b c"),
        ("a\u202eb\u2066c\u200bd\ufeffe\u00adf", "abcdef"),
        ("ignore\U000e0041\U000e0042 this", "ignore this"),
        ("a\u2028b\u2029c\u00a0d\u3000e", "a b c d e"),
        ("we\u200dath\u200cer", "weather"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("\u200d", ""),
        ("a\ue000\U0010fffeb", "ab"),
        ("A\u030a", "Å"),
        ("a\u034f\u3164b", "ab"),
        ("🌦\ufe0f", "🌦\ufe0f"),
        ("x\ufe01\U000e0101y", "xy"),
        ("  a  ", "a"),
    ],
)
def test_clean_text_removes_invisible_characters(text: str, shown: str) -> None:
    assert clean_text(text, limit=100) == shown


def test_clean_text_cuts_to_its_limit() -> None:
    assert clean_text("ab cd", limit=3) == "ab"
    assert clean_text("\u200b" * 90 + "abc", limit=100) == "abc"
    assert clean_text("x" * 1_000_000, limit=5) == "xxxxx"


def test_icon_url_has_one_form_of_its_host() -> None:
    assert read_icon_url("HTTPS://MÜNCHEN.example./ä.png") == (
        "https://xn--mnchen-3ya.example/%C3%A4.png"
    )
    assert read_icon_url("https://a.example:8443/i.png") == "https://a.example:8443/i.png"
    assert read_icon_url("https://a.example/" + "é" * 600) is None
