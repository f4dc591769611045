"""Count the code of a package: lines without docstrings, comments and blank lines, numeric literals, large parts."""

from __future__ import annotations

import argparse
import ast
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Literals that need no name.
_PLAIN_NUMBERS = (-1, 0, 1, 2)

_MAX_FILE_LINES = 400
_MAX_METHODS = 20

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


def main(argv: Sequence[str] | None = None) -> None:
    """Print the size of a package, and of each of its parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = Path(__file__).resolve().parent.parent / "src"
    parser.add_argument("package", nargs="?", type=Path, default=source / "fitwithin", help="folder of the package")
    sizes = measure_package(parser.parse_args(argv).package)
    parts: dict[str, list[FileSize]] = {}
    for size in sizes:
        parts.setdefault(size.name.split("/")[0], []).append(size)
    print(f"{'part':24} {'files':>6} {'lines':>7} {'code':>7} {'literals':>9} {'constants':>10}")
    for name, group in [*sorted(parts.items()), ("all", sizes)]:
        total = (
            sum(getattr(one, field) for one in group) for field in ("lines", "code_lines", "literals", "constants")
        )
        print(f"{name:24} {len(group):6} {next(total):7} {next(total):7} {next(total):9} {next(total):10}")
    large_files = [f"{one.name} ({one.lines})" for one in sizes if one.lines > _MAX_FILE_LINES]
    large_classes = [f"{one.name}: {entry}" for one in sizes for entry in one.large_classes]
    print(f"\nfiles over {_MAX_FILE_LINES} lines: {len(large_files)}", *large_files, sep="\n  ")
    print(f"classes over {_MAX_METHODS} methods: {len(large_classes)}", *large_classes, sep="\n  ")


if __name__ == "__main__":
    main()
