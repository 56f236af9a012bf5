"""The syntax of a module: where a mutation has an effect, and which lines run with which."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

Position = tuple[int, int]  # line from 1, column in characters from 0
Span = tuple[Position, Position]
_Function = ast.FunctionDef | ast.AsyncFunctionDef

_LOGGERS: Final = frozenset({"log", "_log", "logger"})
# keywords and decorators that change no result of a program that is right
_FORM_KEYWORDS: Final = frozenset({"frozen", "slots", "kw_only", "gc", "cache_hash", "strict"})
_FORM_DECORATORS: Final = frozenset({"cache", "final", "lru_cache", "overload", "override"})


@dataclass(frozen=True, slots=True)
class Definition:
    """What a line outside of functions belongs to: the names, and the lines of functions in it."""

    names: frozenset[str]
    lines: frozenset[int]


class ModuleSyntax:
    """The syntax of a module's text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tree = ast.parse(text)
        self._excluded = [self._span_of(node) for node in _nodes_without_effect(self._tree)]
        self._operators = [
            (self._at(node.left.end_lineno, node.left.end_col_offset), self._start_of(node.right))
            for node in _binary_operations(self._tree)
        ]
        self.function_lines = frozenset(_function_lines(self._tree))

    def has_effect(self, position: Position, *, is_binary: bool) -> bool:
        """Whether a mutation here can have one; `is_binary` for that of a binary operator.

        An asterisk among parameters and a bar in a pattern or a type are no binary operators.
        """
        if any(start <= position < end for start, end in self._excluded):
            return False
        return not is_binary or any(start <= position < end for start, end in self._operators)

    def statement_lines(self, line: int) -> frozenset[int]:
        """Return the lines of the innermost statement at the line, without those of its body."""
        inner = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        if not inner:
            return frozenset({line})
        node = max(inner, key=lambda each: (each.lineno, -(each.end_lineno or 0)))
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or line
        return frozenset({*range(node.lineno, last + 1), line})

    def definition(self, line: int) -> Definition:
        """Find what the line defines when the module is imported."""
        for node in self._tree.body:
            if _first_line(node) <= line <= (node.end_lineno or 0):
                return self._definition_in(node, line)
        return Definition(frozenset(), frozenset())

    def _definition_in(self, node: ast.stmt, line: int) -> Definition:
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, _Function) and _first_line(each) <= line < each.body[0].lineno:
                    return Definition(frozenset(), frozenset(_function_lines(each)))
        if isinstance(node, ast.ClassDef | _Function):
            return Definition(frozenset({node.name}), frozenset(_function_lines(node)))
        names = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        return Definition(frozenset(names), frozenset())

    def _span_of(self, node: ast.expr | ast.stmt) -> Span:
        line, column = self._start_of(node)
        is_decorator = self._lines[line - 1][:column].strip() == "@"
        start = (line, 0) if is_decorator else (line, column)
        return start, self._at(node.end_lineno, node.end_col_offset)

    def _start_of(self, node: ast.expr | ast.stmt) -> Position:
        return self._at(node.lineno, node.col_offset)

    def _at(self, line: int | None, column: int | None) -> Position:
        """Count the column in characters; `ast` has it in bytes."""
        line = line or 1
        return line, len(self._lines[line - 1].encode()[:column].decode(errors="replace"))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _function_lines(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            yield from range(node.body[0].lineno, (node.end_lineno or 0) + 1)


def _name_of(node: ast.expr) -> str:
    """Return the last name of `a.name`, `name[...]` or `name(...)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return _name_of(inner)
    return ""


def _nodes_without_effect(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Find annotations, protocols, aliases of types, log calls and the form of classes."""
    class_fields = _class_fields(tree)
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case ast.FunctionDef(returns=ast.expr() as annotation):
                yield annotation
            case ast.AsyncFunctionDef(returns=ast.expr() as annotation):
                yield annotation
            case ast.AnnAssign() if node not in class_fields:
                yield node.annotation
            case ast.keyword(arg=str(name), value=ast.Constant() as value):
                yield from [value] if name in _FORM_KEYWORDS else []
            case ast.stmt() if _has_no_effect(node):
                yield node
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        yield from (each for each in decorators if _name_of(each) in _FORM_DECORATORS)
    yield from (node for node in tree.body if _is_alias(node))


def _has_no_effect(node: ast.stmt) -> bool:
    match node:
        case ast.ClassDef():
            return "Protocol" in map(_name_of, node.bases)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _LOGGERS
    return False


def _class_fields(tree: ast.Module) -> set[ast.stmt]:
    """Find the fields of classes: msgspec reads their annotations."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {each for node in classes for each in node.body if isinstance(each, ast.AnnAssign)}


def _is_alias(node: ast.stmt) -> bool:
    """Whether the statement gives a type a name, as in `Outcome = Settled | Failed`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    letters = node.targets[0].id.lstrip("_")
    return letters[:1].isupper() and letters != letters.upper()


def _binary_operations(tree: ast.Module) -> Iterator[ast.BinOp]:
    types = {
        each
        for node in _class_fields(tree)
        if isinstance(node, ast.AnnAssign)
        for each in ast.walk(node.annotation)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and node not in types:
            yield node
