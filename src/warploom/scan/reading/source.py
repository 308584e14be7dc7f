"""A user's Python file: loaded once, as Python loads it, and the text of the functions that its names are bound to then.

What a name means is asked of the loaded functions (their closures, globals and builtins), never of the file's text: a constant
set again, a helper defined twice, a decorator and a rebound `max` mean here what they mean when the function runs.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import inspect
import itertools
import sys
import sysconfig
import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import NoReturn, cast

from warploom.core import Diagnostic, Span, UnsupportedError, UserError, raised_at, read_text
from warploom.core.limits import TerminatedError

HOLE = "__"
"""The name as which `??` in a template is read; it has the same width, so that places stay right."""
MISSING = object()
"""Stands for a name that is bound to nothing."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function object and the definition that its code was made from."""

    module: Module
    node: ast.FunctionDef
    value: FunctionType

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def parameters(self) -> dict[str, ast.arg]:
        """Plain ones; raises UnsupportedError if there are others."""
        given = self.node.args
        for other in (given.vararg, given.kwarg, *given.kwonlyargs):
            if other is not None:
                self.module.unsupported(other, f"expected plain parameters, got {other.arg}", "Take them by position.")
        return {a.arg: a for a in (*given.posonlyargs, *given.args)}

    @property
    def locals(self) -> frozenset[str]:
        """Names that are never looked up outside: Python makes a name local if anything in the function assigns it."""
        code = self.value.__code__
        return frozenset((*code.co_varnames, *code.co_cellvars))

    @property
    def globals(self) -> dict[str, object]:
        return cast("dict[str, object]", getattr(self.value, "__globals__"))  # noqa: B009 - no known attribute of the type

    def defaults(self) -> dict[str, object]:
        names = list(self.parameters)
        values = self.value.__defaults__ or ()
        return dict(zip(names[len(names) - len(values) :], values, strict=True))

    def lookup(self, name: str) -> object:
        """The object to which a name that is not local is bound when the function runs; MISSING if to nothing."""
        code = self.value.__code__
        if name in code.co_freevars:
            cell = (self.value.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                return MISSING
        scope = self.globals
        return scope[name] if name in scope else getattr(builtins, name, MISSING)

    def annotation(self, name: str) -> object:
        """The value of a parameter's annotation; MISSING if it has none. Raises UserError if it cannot be evaluated."""
        found = self.value.__annotations__.get(name, MISSING)
        try:
            while isinstance(found, str):
                found = eval(found, self.globals, {n: self.lookup(n) for n in self.value.__code__.co_freevars})
            return found
        except Exception as error:
            node = self.parameters[name].annotation or self.node
            message = f"expected a type, got {found}: {type(error).__name__}: {error}"
            self.module.wrong(node, "ANNOTATION", message, "Import what it names.")


@dataclass(slots=True, eq=False)
class Module:
    """One file's text and what its names are bound to once it is loaded, which happens when they are first asked for."""

    file: str
    text: str
    tree: ast.Module
    _scope: dict[str, object] = field(default_factory=dict[str, object])
    written: str = ""
    """The text as the user wrote it, where that is another one: templates have `??`."""
    _elsewhere: dict[object, Function | None] = field(default_factory=dict[object, "Function | None"])

    def span(self, node: ast.AST) -> Span:
        """Place of `node`."""
        line: int = getattr(node, "lineno", 1)
        start: int = getattr(node, "col_offset", 0)
        end_line: int = getattr(node, "end_lineno", None) or line
        end: int = getattr(node, "end_col_offset", None) or start
        lines = (self.written or self.text).splitlines()
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        return Span(self.file, line, start + 1, end_line, end + 1, source)

    @property
    def scope(self) -> Mapping[str, object]:
        """Raises UserError if the file cannot be run."""
        if not self._scope:
            self._scope = _loaded(self)
        return self._scope

    @property
    def functions(self) -> dict[str, Function]:
        """Functions of this file by the names that they are bound to, in the order of their definitions."""
        found = {n: f for n, v in self.scope.items() if (f := self.defined(v)) is not None}
        return dict(sorted(found.items(), key=lambda item: item[1].node.lineno))

    def defined(self, value: object, *, may_yield: bool = False) -> Function | None:
        """The function with its text; None if `value` is no plain function of this file."""
        if not isinstance(value, FunctionType):
            return None
        node = self._definition(value.__code__, may_yield)
        return None if node is None else Function(self, node, value)

    def elsewhere(self, value: object) -> Function | None:
        """The function with its text, of another file or cell of the user's; None if it has none, or belongs to a package."""
        if not isinstance(value, FunctionType) or value.__code__.co_filename == self.file or _is_of_a_package(value):
            return None
        if value not in self._elsewhere:
            self._elsewhere[value] = None
            with contextlib.suppress(UserError):
                self._elsewhere[value] = module_of(value).defined(value)
        return self._elsewhere[value]

    def _definition(self, code: CodeType, may_yield: bool) -> ast.FunctionDef | None:
        refused = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | (0 if may_yield else inspect.CO_GENERATOR)
        if code.co_filename != self.file or code.co_flags & refused:
            return None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min(n.lineno for n in (node, *node.decorator_list))
                if first == code.co_firstlineno:
                    return node
        return None

    def function(self, name: str, *, may_yield: bool = False) -> Function:
        """Raises UserError if the name is bound to no function of this file when it is loaded; `may_yield`: generators, too."""
        value = self.scope.get(name, MISSING)
        found = self.defined(value, may_yield=may_yield)
        if found is not None and (found.node.name == name or not self._is_decorated(name)):
            return found
        known = ", ".join(self.functions) or "none"
        if value is MISSING:
            message = f"expected a function called {name!r}, the file defines: {known}"
            fix = "Use the name of a function at the top level of the file."
        elif isinstance(value, FunctionType) and value.__code__.co_flags & inspect.CO_GENERATOR:
            message = f"expected {name!r} to return its result, it yields values"
            fix = "Append them to a list instead (out = []; ...; out.append(value)), and return the list."
        else:
            bound = described(value) if found is None else f"{found.name}, which its decorator put in its place"
            message = f"expected {name!r} to be a function of this file, it is bound to {bound}"
            fix = "Write it as a plain `def` of this file, without decorators that replace it."
        raise UserError(Diagnostic("UNKNOWN_FUNCTION", message, self._place(name), fix))

    def _is_decorated(self, name: str) -> bool:
        return any(isinstance(n, ast.FunctionDef) and n.name == name and n.decorator_list for n in ast.walk(self.tree))

    def _place(self, name: str) -> Span:
        """Place of the last statement that binds the name, as far as the text shows."""
        nodes = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name]
        return self.span(nodes[-1]) if nodes else Span(self.file, 1, 1, 1, 1)

    def unsupported(self, node: ast.AST, message: str, fix: str) -> NoReturn:
        raise UnsupportedError(Diagnostic("LOOP_UNSUPPORTED", message, self.span(node), fix))

    def wrong(self, node: ast.AST, code: str, message: str, fix: str) -> NoReturn:
        raise UserError(Diagnostic(code, message, self.span(node), fix))


def _is_of_a_package(function: FunctionType) -> bool:
    """Whether Python or an installer put its file there."""
    path = Path(function.__code__.co_filename).absolute()
    return any(path.is_relative_to(place) for name, place in sysconfig.get_paths().items() if name in _PACKAGES)


_PACKAGES = ("stdlib", "platstdlib", "purelib", "platlib")


def attribute_of(owner: ModuleType, name: str) -> object:
    """The value that a module has; MISSING if there is none, or if it is computed each time that it is asked for."""
    found = getattr(owner, name, MISSING)
    return found if vars(owner).get(name) is found else MISSING


def described(value: object) -> str:
    """An object that a name is bound to, for messages."""
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, FunctionType):
        return "a lambda" if value.__name__ == "<lambda>" else f"a function of {value.__module__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return f"{name}, a {type(value).__name__}"
    kind = type(value)
    return f"a value of type {kind.__name__}"


def _loaded(module: Module) -> dict[str, object]:
    name = f"_warploom_scan_file_{next(_numbers)}"
    made = ModuleType(name)
    made.__file__ = module.file
    sys.modules[name] = made
    try:
        # what the file prints must not come between the lines of a report
        with _folder_on_path(module.file), contextlib.redirect_stdout(sys.stderr):
            exec(compile(module.text, module.file, "exec", dont_inherit=True), made.__dict__)
    except (KeyboardInterrupt, TerminatedError):
        raise
    # SystemExit, too: the file is the user's, and its end must not be this program's
    except BaseException as error:
        raise UserError(
            Diagnostic(
                "IMPORT_FAILED",
                f"running the file raised {type(error).__name__}: {error}",
                raised_at(error, module.file) or Span(module.file, 1, 1, 1, 1),
                "Let the file run on its own, without arguments.",
            )
        ) from error
    return made.__dict__


@contextlib.contextmanager
def _folder_on_path(file: str) -> Generator[None]:
    folder = str(Path(file).absolute().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def parse_module(text: str, file: str = "<text>") -> Module:
    """`??` in the text stands for an unknown constant. Raises UserError if it is not Python."""
    readable = text.replace("??", HOLE)
    try:
        tree = ast.parse(readable)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # given once, when the file is run
            compile(tree, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        lines = text.splitlines()
        where = Span(file, line, column, line, column + 1, lines[line - 1] if 0 < line <= len(lines) else "")
        raise UserError(Diagnostic("SYNTAX", f"invalid Python: {error.msg}", where, "Correct the syntax.")) from error
    except (ValueError, RecursionError, MemoryError) as error:
        where = Span(file, 1, 1, 1, 1)
        raise UserError(Diagnostic("SYNTAX", f"invalid Python: {error}", where, "Correct the text.")) from error
    return Module(file, readable, tree, written=text)


def module_of(function: object) -> Module:
    """The text that a function of this process was written in, with the names that it sees.

    Raises UserError if `function` is no plain function, if its text cannot be read, or is no longer what runs.
    """
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        message = f"expected a plain function, got {described(function)}"
        raise UserError(Diagnostic("NOT_A_FUNCTION", message, fix="Pass a `def`, without decorators that replace it."))
    code = function.__code__
    where = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1)
    try:
        text = "".join(inspect.findsource(function)[0])
        module = parse_module(text, code.co_filename)
        missing = _missing(_called(function), [module.tree])
    except (OSError, UserError):
        message = f"expected a function whose source can be read, got {function.__name__!r}"
        raise UserError(Diagnostic("SOURCE_UNAVAILABLE", message, where, "Put the function into a file.")) from None
    if missing:  # a notebook runs the statements of a cell one by one, and calls of imported modules compile otherwise then
        missing = _missing(missing, [ast.Module([statement], []) for statement in module.tree.body])
    if missing:
        message = f"expected the text of {missing[0].__name__!r} to be what runs, the file has another one at its place"
        raise UserError(Diagnostic("SOURCE_CHANGED", message, where, "Load the file again."))
    module._scope = {**function.__globals__, function.__name__: function}  # pyright: ignore[reportPrivateUsage]
    return module


_FUTURES = __future__.annotations.compiler_flag


def _missing(functions: Sequence[FunctionType], trees: Sequence[ast.Module]) -> list[FunctionType]:
    """The functions, of one file, that none of these texts is compiled to."""
    code = functions[0].__code__
    compiled = [compile(t, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True) for t in trees]
    written = [found for whole in compiled for found in _codes(whole)]
    return [f for f in functions if not any(_is_same(f.__code__, found) for found in written)]


def _called(function: FunctionType) -> list[FunctionType]:
    """`function` and those of its file that it names, and that those name."""
    found = [function]
    for one in found:
        cells = [c.cell_contents for c in one.__closure__ or () if c != CellType()]
        for value in (*cells, *(one.__globals__.get(name) for name in one.__code__.co_names)):
            if isinstance(value, FunctionType) and value.__code__.co_filename == function.__code__.co_filename:
                found += [value] if value not in found else []
    return found


def _codes(code: CodeType) -> Generator[CodeType]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _codes(value)


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Whether both do the same; instructions name variables and constants by their numbers."""
    names = ("co_name", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount")
    if any(getattr(one, n) != getattr(other, n) for n in names) or len(one.co_consts) != len(other.co_consts):
        return False
    for a, b in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(a, CodeType) and isinstance(b, CodeType):
            if not _is_same(a, b):
                return False
        elif repr(a) != repr(b) and not (isinstance(a, frozenset) and a == b):
            return False
    return True


def read_module(path: str | Path) -> Module:
    """Raises UserError if the file cannot be read."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            Diagnostic("FILE_NOT_FOUND", f"expected a Python file, cannot read {path}: {reason}", fix="Check the path.")
        ) from error
    return parse_module(text, str(path))
