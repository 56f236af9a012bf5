"""A schema is judged offline and within bounded time, however it multiplies."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import jsonschema_rs
import pytest

from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.json_tree import MAX_DEPTH, measure
from farebox.catalog.discovery.schema_bounds import MAX_SIZE, pattern_size
from farebox.catalog.discovery.schema_steps import UnresolvedReference, count_steps
from farebox.catalog.discovery.schema_validation import MAX_STEPS, judge_info

Json = dict[str, object]

BOUND_S: Final = 0.5  # of processor time; the worst accepted schema takes about a thirtieth of it
NESTED: Final[Json] = {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}}}


@contextmanager
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server on this machine that records its requests."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            try:
                while True:
                    call, _ = server.accept()
                    with call:
                        call.settimeout(2)
                        heard.append(call.recv(4096))
                        call.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    "spelled",
    [
        '{"$ref":"URL"}',
        '{"$ref":"URL#/x"}',
        '{"$id":"URL","$ref":"#/x"}',
        '{"$schema":"URL"}',
        '{"$dynamicRef":"URL"}',
        '{"allOf":[{"properties":{"input":{"$ref":"URL"}}}]}',
        '{"$defs":{"x":{"$id":"URL","$ref":"other.json"}},"$ref":"#/$defs/x"}',
        '{"$defs":{"x":{"$ref":"URL"}},"$ref":"#/$defs/x"}',
        '{"$vocabulary":{"URL":true}}',
    ],
)
def test_schema_reference_is_never_fetched(spelled: str) -> None:
    with listener() as (url, heard):
        schema = json.loads(spelled.replace("URL", url))
        refused = judge_info({"input": {}}, schema)
        assert isinstance(refused, Dropped)
        assert heard == []


def test_draft_named_inside_a_schema_is_ignored_and_not_fetched() -> None:
    with listener() as (url, heard):
        schema: Json = {"properties": {"input": {"$schema": url, "type": "object"}}}
        assert judge_info({"input": {}}, schema) is None
        assert judge_info({"input": 7}, schema) is not None
        assert heard == []


def test_validator_fetches_nothing_without_the_scan() -> None:
    with listener() as (url, heard):
        with pytest.raises(ValueError, match="Retrieval is disabled"):
            jsonschema_rs.Draft202012Validator({"$ref": url}, offline=True)
        assert heard == []
        jsonschema_rs.Draft202012Validator({"$ref": url})
        assert len(heard) == 1  # control: the validator can fetch


def doubling(levels: int) -> Json:
    """Each level refers twice to the next."""
    steps: Json = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**steps, f"a{levels}": {"type": "object"}}, "$ref": "#/$defs/a0"}


def recursive(times: int) -> Json:
    """Each member is judged by the same schema, so many times over."""
    inner: Json = {"properties": {"a": {"$ref": "#/$defs/r"}}}
    return {"$defs": {"r": {"allOf": [inner] * times}}, "$ref": "#/$defs/r"}


def deep(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("info", "schema"),
    [
        ({}, doubling(30)),
        (deep(28), recursive(2)),
        (deep(28), recursive(9)),
        ({}, {"$ref": "#"}),
        ({}, {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        ({"a": [0] * 2_000}, {"properties": {"a": {"items": {"enum": list(range(1, 900))}}}}),
        ({"a": "a" * 50_000}, {"properties": {"a": {"pattern": "(a{1,30}){1,30}b"}}}),
        (
            {f"k{n}": 1 for n in range(2_000)},
            {"patternProperties": {f"k[^x]{{0,60}}{n}$": True for n in range(30)}},
        ),
        ({"a": 1}, {"allOf": [{"unevaluatedProperties": False}] * 3, "properties": {"a": True}}),
    ],
)
def test_costly_schema_is_refused_before_it_runs(info: Json, schema: Json) -> None:
    started = time.thread_time()
    refused = judge_info(info, schema)
    assert refused is not None
    assert refused.reason is DropReason.SCHEMA_TOO_COSTLY
    assert time.thread_time() - started < BOUND_S


@pytest.mark.parametrize(
    ("info", "schema"),
    [
        ({}, doubling(12)),
        (deep(28), recursive(1)),
        ({"a": [1] * 3_900}, {"properties": {"a": {"items": {"type": "integer"}}}}),
        (
            {"a": [1] * 800},
            {"properties": {"a": {"allOf": [{"contains": {"const": 2}, "minContains": 0}] * 60}}},
        ),
        ({"a": "ab" * 200}, {"properties": {"a": {"pattern": "(.{0,30}a){0,30}Q"}}}),
        ({"a": "ab" * 25_000}, {"properties": {"a": {"pattern": "^(a|b)*$"}}}),
        ({"a": [{"b": n} for n in range(1_900)]}, {"properties": {"a": {"uniqueItems": True}}}),
        ({}, {"properties": {f"k{n}": {"type": "integer"} for n in range(990)}}),
        ({}, {"allOf": [{"pattern": "\\p{L}{1,32}"}]}),
        (
            {"a": [{f"b{n}": 1 for n in range(40)}] * 20},
            {
                "properties": {
                    "a": {
                        "items": {
                            "unevaluatedProperties": False,
                            "allOf": [{"properties": {f"b{n}": {} for n in range(40)}}],
                        }
                    }
                }
            },
        ),
    ],
)
def test_costliest_accepted_schema_runs_in_bounded_time(info: Json, schema: Json) -> None:
    started = time.thread_time()
    refused = judge_info(info, schema)
    assert refused is None or refused.reason is DropReason.INFO_DOES_NOT_MATCH_SCHEMA
    assert time.thread_time() - started < BOUND_S


def test_costly_pattern_is_refused_before_it_is_compiled() -> None:
    schema: Json = {"allOf": [{"pattern": f"^{n}\\p{{L}}{{90}}$"} for n in range(19)]}
    started = time.thread_time()
    refused = judge_info({"a": 1}, schema)
    taken_s = time.thread_time() - started
    assert refused is not None
    assert refused.reason is DropReason.SCHEMA_PATTERN_REFUSED
    started = time.thread_time()
    unbounded = jsonschema_rs.RegexOptions(size_limit=2**22)
    jsonschema_rs.Draft202012Validator(schema, pattern_options=unbounded, offline=True)
    assert taken_s * 10 < time.thread_time() - started  # what compiling them would take


def steps(schema: Mapping[str, object], info: Json) -> int | None:
    levels = measure(info, most=4_000)
    assert levels is not None
    return count_steps(schema, levels, limit=MAX_STEPS)


def test_steps_double_when_a_schema_applies_twice() -> None:
    for levels in range(4, 10):
        fewer, more = steps(doubling(levels), {}), steps(doubling(levels + 1), {})
        assert fewer is not None
        assert more is not None
        assert 1.9 * fewer < more < 2.1 * fewer
    once, twice = steps(recursive(1), NESTED), steps(recursive(2), NESTED)
    assert once is not None
    assert twice is not None
    assert twice > 2**8 * once / 10


def test_steps_count_every_subschema_keyword() -> None:
    heavy: Json = {"enum": list(range(500))}
    info: Json = {"a": [1, [2]], "b": "x"}
    for name in ("items", "additionalProperties", "contains", "propertyNames", "not", "if"):
        for schema in ({name: heavy}, {"properties": {"a": {name: heavy}}}):
            assert (steps(schema, info) or 0) > 500, schema
    for name in ("allOf", "anyOf", "oneOf", "prefixItems"):
        assert (steps({name: [heavy]}, info) or 0) > 500
    for name in ("properties", "patternProperties", "dependentSchemas"):
        assert (steps({name: {"a": heavy, "b": True}}, info) or 0) > 500
        assert (steps({name: []}, info) or 0) < 20


def test_references_resolve_as_the_standard_says() -> None:
    info: Json = {"a": 1}
    heavy: Json = {"enum": list(range(500))}
    for schema in (
        {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": heavy}},
        {"$ref": "#/allOf/1", "allOf": [True, heavy]},
        {"$ref": "#here", "$defs": {"x": {"$anchor": "here", **heavy}}},
    ):
        assert (steps(schema, info) or 0) > 500
    assert steps({"$ref": "#/$defs/a", "$defs": {"a": True}}, info) is not None
    for nowhere in ("#/x", "#/allOf/7", "#/allOf/x", "#/allOf/99999", "#x", "#/allOf/0/x", "#/b/c"):
        with pytest.raises(UnresolvedReference):
            steps({"$ref": nowhere, "allOf": [True], "b": 7}, info)


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("", 0),
        ("^abc$", 5),
        ("[a-z]{4}", 4),
        ("[^]]", 1),
        ("[]a]+", 2),
        ("(ab){3}", 9),
        ("((ab){3}c){2}", 22),
        ("(){40}", 40),
        ("((){4}){5}", 25),
        ("a{2,5}b{3,}", 8),
        ("a{0}", 1),
        ("\\d{4}-\\d{2}", 7),
        ("\\{4}", 3),
        ("\\p{L}", 61),
        ("\\pL\\PL", 122),
        ("\\p{L}{48}", 48 * 61),
        ("\\p{L}{0000048}", 48 * 61),
        ("\\p{L}+{48}", 62 * 48),
        ("\\p{L}{2}{3}", 61 * 6),
        ("[^\\p{L}\\p{N}-]{2}", 242),
        ("[\u0100\\u0102a]{3}", 9),
        ("(?:\\p{L}[(]){2}", 2 * (2 + 61 + 1 + 1)),
        ("[[\\p{L}]&&[\\p{N}]]{2}", MAX_SIZE),
        ("(?x)\\p{L} {48}", MAX_SIZE),
        ("(?i:a)", MAX_SIZE),
        ("\\(?x", 3),
        ("(?P<x>a)", 7),
        ("(((a{99}){99}){99}){99}", MAX_SIZE),
        ("((a", 1),
        ("a))", 3),
        ("{3}", 0),
    ],
)
def test_pattern_size_counts_repetitions(pattern: str, size: int) -> None:
    assert pattern_size(pattern) == size


def test_measure_gives_sizes_by_depth_and_none_over_the_limits() -> None:
    levels = measure({"ab": [1, "xyz"], "c": {}}, most=6)
    assert levels is not None
    assert [(level.values, level.text) for level in levels] == [(1, 0), (2, 3), (2, 3)]
    assert measure([1, 2], most=2) is None
    assert measure(deep(MAX_DEPTH - 1), most=100) is not None
    assert measure(deep(MAX_DEPTH), most=100) is None
    assert measure([2**1024], most=10) is None
