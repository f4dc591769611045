"""The description of objects in a skops file, checked before any of them is created.

`schema.json` is a tree of nodes. Each names a loader of skops and a type, and may refer to entries of the zip file.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file.archive_sizes import damaged, read_array_header, read_entry, validate_entries
from fitwithin._core.model_file.trusted_types import SCALARS

_FREE_BYTES = 1 << 28
"""Memory that any file may take: 256 MiB."""


_MAX_GROWTH = 100
"""Bytes of memory that a file may take for each of its own, beyond `_FREE_BYTES`.

zlib packs up to 1,000 to 1. By the estimate below, which is two to three times the memory that is really taken, forests
of 1,000 small trees grow by 100, and those of large ones by 25 to 50. A model that grows by more is stored unpacked.
"""


_SIGN_BYTES = {b"{": 240, b"[": 64, b",": 64, b":": 64}
"""Memory of the Python objects that a sign of JSON stands for, at most; text in it takes a byte for each character."""


_NODE_BYTES = 2048
"""Memory of skops for one node, with its list of trusted types."""


_FILE_GROWTH = {"BytearrayNode": 10, "BytesNode": 2, "NdArrayNode": 2, "SparseMatrixNode": 4}
"""Bytes of memory for one byte of an entry, by loader: most are held twice; skops turns a bytearray into a list."""


_SCHEMA_ENTRY = "schema.json"


_OLDEST_PROTOCOL = 2
"""Protocol of the oldest skops that fitwithin uses; older loaders check less."""


_MAX_POOL_SIZE = 16
"""Words of a seed sequence of NumPy; it has 4 unless asked for more."""


Node = Mapping[str, Any]
"""One object of `schema.json`."""


def read_types(path: Path) -> frozenset[tuple[str, str]]:
    """Check the entries and the description of a skops file, and return its types.

    Parameters
    ----------
    path : Path
        File to read. Nothing in it is created or run.

    Returns
    -------
    frozenset of (str, str)
        Names of loaders, each with the full name of a type.

    Raises
    ------
    UserInputError
        If loading would take more memory than the file's size explains, or the description is not one of skops.
    """
    max_bytes = _FREE_BYTES + _MAX_GROWTH * path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            validate_entries(archive, max_bytes)
            return _SchemaReader(archive, max_bytes).read()
    except (UserInputError, OSError):
        raise
    except Exception as error:  # A forged description may raise anything.
        raise damaged(f"Its description can't be read ({type(error).__name__}: {error})") from error


class _SchemaReader:
    """Collect the types of all nodes, and add up the memory that they will take."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int) -> None:
        self._archive = archive
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._types: set[tuple[str, str]] = set()
        self._fingerprints: dict[int, Any] = {}
        self._checks: Mapping[str, Callable[[Node], None]] = {
            "BytearrayNode": self._add_entry,
            "BytesNode": self._add_entry,
            "JsonNode": self._check_json,
            "MethodNode": self._add_method,
            "NdArrayNode": self._check_array,
            "RandomGeneratorNode": self._check_generator,
            "SparseMatrixNode": self._check_sparse_matrix,
            "TreeNode": self._check_tree,
        }

    def read(self) -> frozenset[tuple[str, str]]:
        text = read_entry(self._archive, _SCHEMA_ENTRY, self._max_bytes)
        self._add_memory(len(text) + sum(n_bytes * text.count(sign) for sign, n_bytes in _SIGN_BYTES.items()))
        schema = json.loads(text)
        protocol = schema.get("protocol")
        if type(protocol) is not int or protocol < _OLDEST_PROTOCOL:
            raise damaged(f"Its description has the protocol {protocol!r}, not {_OLDEST_PROTOCOL} or higher")
        for node in _walk_nodes(schema):
            self._add_node(node)
        return frozenset(self._types)

    def _add_memory(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > self._max_bytes:
            raise damaged(
                f"It would take more than {self._max_bytes:,} bytes of memory, which its size does not explain"
            )

    def _add_node(self, node: Node) -> None:
        loader = node["__loader__"]
        self._add_memory(_NODE_BYTES)
        self._types.add((loader, f"{node['__module__']}.{node['__class__']}"))
        number = node.get("__id__")
        if number is not None:
            # skops creates one object for all nodes of a number, so they must not differ in what is checked here.
            fingerprint = _fingerprint(node)
            if type(number) is not int or self._fingerprints.setdefault(number, fingerprint) != fingerprint:
                raise damaged(f"Its description has two objects of the number {number!r}")
        if loader in self._checks:
            self._checks[loader](node)

    def _check_json(self, node: Node) -> None:
        if type(node["content"]) is not str:
            raise damaged("A plain value in it is not stored as text")

    def _add_method(self, node: Node) -> None:
        self._types.add(("MethodNode", f"{node['__module__']}.{node['__class__']}.{node['content']['func']}"))

    def _add_entry(self, node: Node) -> None:
        self._add_memory(_FILE_GROWTH[node["__loader__"]] * self._archive.getinfo(node["file"]).file_size)

    def _check_array(self, node: Node) -> None:
        if node["type"] == "numpy":
            self._add_entry(node)
            header = read_array_header(self._archive, node["file"])
            if f"{node['__module__']}.{node['__class__']}" in SCALARS and header.shape != ():
                raise damaged(f"A number in it is an array of the shape {header.shape}")
            return
        shape = [_read_count(size) for size in node["shape"]["content"]]
        if not shape or (len(shape) > 1 and not _is_table(node["content"], shape)):
            raise damaged(f"An array of objects in it does not have its shape {tuple(shape)}")

    def _check_sparse_matrix(self, node: Node) -> None:
        self._add_entry(node)
        content = read_entry(self._archive, node["file"], self._max_bytes)
        with zipfile.ZipFile(io.BytesIO(content)) as matrix:
            validate_entries(matrix, self._max_bytes)
            for entry in matrix.infolist():
                self._add_memory(_FILE_GROWTH["SparseMatrixNode"] * entry.file_size)
                read_array_header(matrix, entry.filename)

    def _check_tree(self, node: Node) -> None:
        """Compare the numbers of a tree's outputs, which scikit-learn takes memory for before it compares them."""
        n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        is_array = n_classes["__loader__"] == "NdArrayNode"
        shape = read_array_header(self._archive, n_classes["file"]).shape
        if not is_array or _read_count(n_features) < 1 or shape != (_read_count(n_outputs),) or shape == (0,):
            raise damaged("A tree in it has no features, or another number of outputs than it says")

    def _check_generator(self, node: Node) -> None:
        """Allow NumPy's default random generator with a small seed sequence."""
        name = node["content"]["bit_generator"]["content"]["bit_generator"]["content"]
        pool_size = _read_count(node["content"]["seed_seq"]["content"]["pool_size"])
        if name != '"PCG64"' or pool_size > _MAX_POOL_SIZE:
            raise damaged("A random generator in it is not one that NumPy creates by default")


def _walk_nodes(schema: Any) -> Iterator[Node]:
    """Yield every node, whether or not skops would look at it."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            waiting += found.values()
            names = [found.get(key) for key in ("__loader__", "__module__", "__class__")]
            if all(isinstance(name, str) for name in names):
                yield found
            elif any(name is not None for name in names):
                raise damaged("Its description has an object without a type")


def _fingerprint(node: Node) -> Any:
    """Return what must be equal in all nodes of one number."""
    loader, content = node["__loader__"], node.get("content")
    children: Any = None
    if loader == "JsonNode":
        children = content
    elif loader == "NdArrayNode" and node["type"] == "numpy":
        children = node["file"]
    elif isinstance(content, list):
        children = [child["__id__"] for child in content]
    elif loader == "DictNode" and isinstance(content, dict):
        children = {key: child["__id__"] for key, child in content.items()}
    return loader, node["__module__"], node["__class__"], children


def _read_count(node: Node) -> int:
    count = json.loads(node["content"])
    if node["__loader__"] != "JsonNode" or type(count) is not int or count < 0:
        raise damaged(f"Its description has {count!r} in place of a number")
    return count


def _is_table(items: Any, shape: list[int]) -> bool:
    """Whether items are nested as deep as a shape says, and no deeper: NumPy would copy out what is nested further."""
    if len(items) != shape[0]:
        return False
    if len(shape) > 1:
        return all(item["__loader__"] == "ListNode" and _is_table(item["content"], shape[1:]) for item in items)
    return all(_is_single(item) for item in items)


def _is_single(node: Node) -> bool:
    match node["__loader__"]:
        case "JsonNode":
            return not node["content"].lstrip().startswith("[")
        case "NdArrayNode":
            return bool(node["__class__"] != "ndarray")
        case "ObjectNode":
            return bool(node["__module__"] == "sklearn.tree._classes")
        case _:
            return False
