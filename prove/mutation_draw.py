"""The mutants: every mutation that cosmic-ray knows in the sources, and an even draw of them."""

import ast
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final

from prove.mutation_syntax import ModuleSyntax

PACKAGES: Final = ("automation", "facilitator", "gateway", "submission", "vault")
# parso's types of the nodes that some operator changes; to ask each about every comma takes minutes
_TYPES: Final = frozenset(
    (
        *("assert_stmt", "comparison", "decorator", "except_clause", "factor", "for_stmt"),
        *("if_stmt", "keyword", "not_test", "number", "operator", "test", "while_stmt"),
    )
)
_PUNCTUATION: Final = frozenset(("(", ")", "[", "]", "{", "}", ",", ".", ":", "=", "->"))
# the same result wherever the operands are members of an enumeration, flags or small numbers
_SAME: Final = frozenset(
    f"ReplaceComparisonOperator_{each}" for each in ("Eq_Is", "Is_Eq", "NotEq_IsNot", "IsNot_NotEq")
)


@dataclass(frozen=True, slots=True, order=True)
class Mutation:
    """One change of one module; `path` is relative to the checkout, as is the name."""

    path: str
    line: int
    operator: str
    occurrence: int

    @property
    def name(self) -> str:
        """Return file, line and operator."""
        return f"{self.path}:{self.line} {self.operator}"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutation, and the text of its module with it."""

    mutation: Mutation
    text: str


@cache
def _operators() -> dict[str, Any]:
    """Return cosmic-ray's operators that need no argument, which would be the names to change."""
    from cosmic_ray.operators.provider import OperatorProvider

    provider = OperatorProvider()
    found = {str(name): provider[name] for name in provider}
    return {
        name: operator
        for name, operator in sorted(found.items())
        if name not in _SAME and not operator.arguments()
    }


def find_mutations(path: str, text: str) -> list[Mutation]:
    """Find every mutation of a module that can have an effect."""
    from cosmic_ray.ast import ast_nodes, get_ast

    syntax = ModuleSyntax(text)
    nodes = [
        node
        for node in ast_nodes(get_ast(text))
        if node.type in _TYPES and getattr(node, "value", "") not in _PUNCTUATION
    ]
    found = []
    for name, operator in _operators().items():
        positions = [at for node in nodes for at, _ in operator().mutation_positions(node)]
        is_binary = name.startswith("ReplaceBinaryOperator")
        found += [
            Mutation(path, at[0], name, occurrence)
            for occurrence, at in enumerate(positions)
            if syntax.has_effect(at, is_binary=is_binary)
        ]
    return sorted(found)


def find_all_mutations(root: Path) -> list[Mutation]:
    """Find the mutations of all modules of the packages."""
    return [
        mutation
        for package in PACKAGES
        for path in sorted((root / "src" / "farebox" / package).rglob("*.py"))
        for mutation in find_mutations(path.relative_to(root).as_posix(), path.read_text())
    ]


def mutate(text: str, mutation: Mutation) -> str | None:
    """Return the module's text with the mutation; None when it is no other program."""
    from cosmic_ray.mutating import mutate_code

    mutated = mutate_code(text, _operators()[mutation.operator](), mutation.occurrence)
    if mutated is None:
        return None
    try:
        is_other = ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(text))
    except SyntaxError:
        return None
    return str(mutated) if is_other else None


def draw_mutants(
    found: Iterable[Mutation],
    *,
    count: int,
    seed: int,
    mutate: Callable[[Mutation], str | None],
) -> list[Mutant]:
    """Draw `count` mutants: one line out of each of as many equal parts of all lines.

    A line has one mutant at most, however many operators fit it. `mutate` returns the text of a
    mutant, or None when the mutation makes no other program; a part without any is left out.
    """
    chance = random.Random(seed)
    lines = [list(each) for _, each in groupby(sorted(found), key=lambda m: (m.path, m.line))]
    count = min(count, len(lines))
    bounds = [number * len(lines) // count for number in range(count + 1)] if count else []
    return [
        mutant
        for begin, end in pairwise(bounds)
        for mutant in _draw_one(lines[begin:end], chance, mutate)
    ]


def _draw_one(
    lines: Sequence[Sequence[Mutation]],
    chance: random.Random,
    mutate: Callable[[Mutation], str | None],
) -> list[Mutant]:
    for line in chance.sample(lines, len(lines)):
        for mutation in chance.sample(line, len(line)):
            if (text := mutate(mutation)) is not None:
                return [Mutant(mutation, text)]
    return []
