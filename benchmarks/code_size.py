"""Count the code of a package: lines without docstrings, comments and blank lines, numeric literals, large parts."""

from __future__ import annotations

import argparse
import ast
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

# Literals that need no name.
_PLAIN_NUMBERS = (-1, 0, 1, 2)

_MAX_FILE_LINES = 400
_MAX_METHODS = 20

# Goals. Version 0.2.0 had 21,907 lines of code and 1,051 literals.
MAX_CODE_LINES = 18_000
MAX_LITERALS = 788
MAX_PART_LINES = {"teachers/_auto/": 420, "teachers/_search/": 900}

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class FileSize:
    """Size of one file.

    Parameters
    ----------
    name : str
        Its path below the package.
    lines, code_lines : int
        All lines, and those that hold code.
    literals : int
        Numeric literals other than -1, 0, 1 and 2.
    constants : int
        Names in capitals that are assigned at module level.
    large_classes : tuple of str
        Classes with more methods than `_MAX_METHODS`.
    """

    name: str
    lines: int
    code_lines: int
    literals: int
    constants: int
    large_classes: tuple[str, ...]


def measure_package(folder: Path) -> list[FileSize]:
    """Return the size of each Python file below a folder."""
    return [_measure_file(path, str(path.relative_to(folder))) for path in sorted(folder.rglob("*.py"))]


def _measure_file(path: Path, name: str) -> FileSize:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    documented = {line for node in ast.walk(tree) for line in _docstring_lines(node)}
    with path.open("rb") as file:
        code = {
            line
            for token in tokenize.tokenize(file.readline)
            if token.type not in _NO_CODE
            for line in range(token.start[0], token.end[0] + 1)
        }
    constants = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and _is_constant(node)]
    return FileSize(
        name,
        lines=text.count("\n"),
        code_lines=len(code - documented),
        literals=sum(_is_telling_number(node) for node in ast.walk(tree)),
        constants=len(constants),
        large_classes=tuple(_list_large_classes(tree)),
    )


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of strings that stand alone: docstrings of modules, classes, functions and constants."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_telling_number(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, int | float) and node.value not in _PLAIN_NUMBERS


def _is_constant(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id.isupper() for target in targets)


def _list_large_classes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            n_methods = sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)
            if n_methods > _MAX_METHODS:
                yield f"{node.name} ({n_methods} methods)"


def sum_sizes(group: Sequence[FileSize]) -> list[int]:
    """Return files, lines, lines of code, literals and constants together."""
    fields = ("lines", "code_lines", "literals", "constants")
    return [len(group), *(sum(getattr(one, field) for one in group) for field in fields)]


def make_table(sizes: Sequence[FileSize]) -> MarkdownTable:
    """Return one line for each part of the package, and one for all."""
    parts: dict[str, list[FileSize]] = {}
    for size in sizes:
        parts.setdefault(size.name.split("/")[0], []).append(size)
    rows = [[name, *(f"{n:,}" for n in sum_sizes(group))] for name, group in [*sorted(parts.items()), ("all", sizes)]]
    return MarkdownTable("Code of the package", ("part", "files", "lines", "code", "literals", "constants"), rows)


def make_goals(sizes: Sequence[FileSize]) -> list[Goal]:
    """Return the goals for lines of code, numeric literals, long files and large classes."""
    _, _, code, literals, _ = sum_sizes(sizes)
    counts = [
        (f"at most {MAX_CODE_LINES:,} lines of code", code, MAX_CODE_LINES),
        (f"at most {MAX_LITERALS} numeric literals, three quarters of version 0.2.0", literals, MAX_LITERALS),
    ]
    for name, most in MAX_PART_LINES.items():
        lines = sum(one.code_lines for one in sizes if one.name.startswith(name))
        counts.append((f"{name}: at most {most} lines of code", lines, most))
    long = [f"{one.name} ({one.lines})" for one in sizes if one.lines > _MAX_FILE_LINES]
    large = [entry for one in sizes for entry in one.large_classes]
    lists = [(f"no file over {_MAX_FILE_LINES} lines", long), (f"no class over {_MAX_METHODS} methods", large)]
    return [
        *(Goal(f"{text}; {count:,}", count <= most) for text, count, most in counts),
        *(Goal(f"{text}; {', '.join(found) or 'none'}", not found) for text, found in lists),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print and write the size of a package, and of each of its parts; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = Path(__file__).resolve().parent.parent / "src"
    parser.add_argument("package", nargs="?", type=Path, default=source / "fitwithin", help="folder of the package")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    sizes = measure_package(arguments.package)
    figures = {"files": [asdict(size) for size in sizes]}
    environment = Environment.current()
    return write_report("code_size", environment, [make_table(sizes)], make_goals(sizes), figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
