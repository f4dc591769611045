"""Forged model files are refused in little memory, and never crash the process that opens them."""

import io
import json
import struct
import sys
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.model_file import dump_model
from model_file_reader import ModelFileReader

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads the memory of a process from /proc"),
]

MAX_MB = 350
"""Memory that a refused file may take: the 256 MiB that any file may take, and room for what Python keeps."""

X = np.random.default_rng(0).integers(0, 6, (60, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] > 5).astype(int)


@pytest.fixture(scope="module")
def reader():
    reader = ModelFileReader()
    yield reader
    reader.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def write(path, model):
    """Write an honest file of a fitted model."""
    dump_model(model, path)
    return path


def rewrite(path, change_schema=None, **new_entries):
    """Write a file again with another description or with other entries."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()} | new_entries
    if change_schema is not None:
        schema = json.loads(entries["schema.json"])
        entries["schema.json"] = json.dumps(change_schema(schema) or schema)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def attributes(schema):
    """The description of the attributes of the outermost object."""
    return schema["content"]["content"]


def add_attribute(schema, name, node):
    """Describe one more attribute of the outermost object."""
    attributes(schema)[name] = node
    kind = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode", "__id__": 10**9 - 1}
    schema["content"]["key_types"]["content"].append(kind)


def find(schema, loader):
    """The first node of a loader."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if found.get("__loader__") == loader:
                return found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    raise LookupError(loader)


def schema_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))


def packed_array(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def change_array(path, attribute, change):
    """Write a file again with another array in an attribute."""
    name = attributes(schema_of(path))[attribute]["file"]
    with zipfile.ZipFile(path) as archive:
        array = np.load(io.BytesIO(archive.read(name)))
    rewrite(path, **{name: packed_array(change(array))})


def change_value(path, attribute, value):
    """Write a file again with another plain value in an attribute."""
    rewrite(path, lambda schema: attributes(schema)[attribute].update(json_node(value)))


def json_node(value, number=None):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
        "__id__": number or 10**9,
    }


def with_item(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def neighbors(path):
    return write(path, KNeighborsClassifier(algorithm="brute").fit(X, Y))


# Files that would crash predict.


def neighbors_of_a_class_far_away(path):
    change_array(neighbors(path), "_y", lambda y: with_item(y, 0, 10**10))


def neighbors_of_a_negative_class(path):
    change_array(neighbors(path), "_y", lambda y: with_item(y, 0, -(10**10)))


def more_neighbors_than_rows(path):
    change_value(neighbors(path), "n_neighbors", 10**6)


def neighbors_of_narrower_rows(path):
    change_array(neighbors(path), "_fit_X", lambda rows: np.ascontiguousarray(rows[:, :1]))


def fewer_neighbors_than_classes(path):
    change_array(neighbors(path), "_y", lambda y: y[:1])


def sparse_rows_with_an_index_far_away(path):
    write(path, KNeighborsClassifier().fit(sparse.csr_matrix(X), Y))
    change_matrix(path, "_fit_X", indices=lambda indices: with_item(indices, 3, 2**30))


def sparse_coefficients_with_a_negative_index(path):
    write(path, SGDClassifier().fit(X, Y).sparsify())
    change_matrix(path, "coef_", indices=lambda indices: with_item(indices, 0, -(2**30)))


def sparse_coefficients_without_elements(path):
    """The matrix's own check does not look at the ends of its lines then."""
    write(path, SGDClassifier().fit(X, (X[:, 0] // 2).astype(int)).sparsify())
    empty = {part: lambda array: array[:0] for part in ("data", "indices")}
    change_matrix(path, "coef_", **empty, indptr=lambda ends: with_item(ends, -1, 0))


def change_matrix(path, attribute, **changes):
    name = attributes(schema_of(path))[attribute]["file"]
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(io.BytesIO(archive.read(name))) as matrix:
        entries = {entry: np.load(io.BytesIO(matrix.read(entry))) for entry in matrix.namelist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as matrix:
        for entry, array in entries.items():
            changed = changes.get(entry.removesuffix(".npy"), lambda unchanged: unchanged)(array)
            matrix.writestr(entry, packed_array(changed))
    rewrite(path, **{name: file.getvalue()})


def support_vectors_of_other_classes(path):
    write(path, SVC().fit(X, Y))
    change_array(path, "_n_support", lambda counts: with_item(counts, 0, 10**9))


def support_vectors_without_coefficients(path):
    write(path, SVC().fit(X, Y))
    change_array(path, "_dual_coef_", lambda coefficients: coefficients[:, :1].copy())


def precomputed_kernel_far_away(path):
    write(path, SVC().fit(X, Y))
    change_array(path, "support_", lambda rows: rows + 10**9)
    change_value(path, "kernel", "precomputed")


def a_tree_with_a_node_far_away(path):
    write(path, DecisionTreeClassifier().fit(X, Y))
    tree = attributes(schema_of(path))["tree_"]
    name = tree["content"]["content"]["nodes"]["file"]
    with zipfile.ZipFile(path) as archive:
        nodes = np.load(io.BytesIO(archive.read(name)))
    nodes["left_child"][0] = 10**8
    rewrite(path, **{name: packed_array(nodes)})


def a_tree_with_many_outputs(path):
    write(path, DecisionTreeClassifier().fit(X, Y))
    rewrite(
        path, lambda schema: find(schema, "TreeNode")["__reduce__"]["args"]["content"].__setitem__(2, json_node(2**40))
    )


def a_tree_that_does_not_check_its_rows(path):
    write(path, DecisionTreeClassifier().fit(X, Y))
    function = {"__class__": "absolute", "__module__": "numpy", "__loader__": "FunctionNode", "__id__": 10**9}
    rewrite(path, lambda schema: add_attribute(schema, "_validate_X_predict", function))


def boosting_with_a_hidden_tree(path):
    """A masked array hides a tree from checks in Python, and not from compiled code."""
    write(path, GradientBoostingClassifier(n_estimators=2).fit(X, Y))
    wide = GradientBoostingClassifier(n_estimators=2).fit(np.hstack([X] * 50), Y)
    other = path.with_name("wide.skops")
    write(other, wide)
    with zipfile.ZipFile(other) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}
    trees = attributes(schema_of(other))["estimators_"]

    def change(schema):
        mask = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": 10**9}
        attributes(schema)["estimators_"] = {
            "__class__": "MaskedArray",
            "__module__": "numpy.ma",
            "__loader__": "MaskedArrayNode",
            "__id__": 10**9 + 1,
            "content": {"data": trees, "mask": {**mask, "type": "numpy", "file": "mask.npy"}},
        }

    rewrite(path, change, **entries, **{"mask.npy": packed_array(np.ones((2, 1), bool))})


def histogram_boosting_in_the_middle_of_a_fit(path):
    write(path, HistGradientBoostingClassifier(max_iter=2).fit(X, Y))
    rewrite(path, lambda schema: add_attribute(schema, "_in_fit", json_node(True)))


def a_word_of_a_column_far_away(path):
    model = make_pipeline(CountVectorizer(token_pattern="[ab]"), LogisticRegression()).fit(["a", "b", "a b"], [0, 1, 1])
    write(path, model)
    text = zipfile.ZipFile(path).read("schema.json").decode()
    vocabulary = next(node for node in walk(json.loads(text)) if isinstance(node.get("vocabulary_"), dict))[
        "vocabulary_"
    ]
    number = vocabulary["content"]["a"]["__id__"]
    rewrite(path, lambda schema: replace_numbered(schema, number, json_node(10**9, number)))


def walk(schema):
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def replace_numbered(schema, number, node):
    for found in walk(schema):
        for key, value in found.items():
            if isinstance(value, dict) and value.get("__id__") == number:
                found[key] = node


def a_category_of_a_column_far_away(path):
    model = make_pipeline(OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"), LogisticRegression())
    write(path, model.fit(X, Y))
    encoder = next(node for node in walk(schema_of(path)) if "_default_to_infrequent_mappings" in node)
    name = encoder["_default_to_infrequent_mappings"]["content"][0]["file"]
    with zipfile.ZipFile(path) as archive:
        groups = np.load(io.BytesIO(archive.read(name)))
    rewrite(path, **{name: packed_array(groups + 10**9)})


def a_random_state_far_away(path):
    write(path, SGDClassifier(random_state=np.random.RandomState(0)).fit(X, Y))
    position = next(node for node in walk(schema_of(path)) if {"key", "pos"} <= node.keys())["pos"]["__id__"]
    rewrite(path, lambda schema: replace_numbered(schema, position, json_node(10**9, position)))


CRASHES = [
    neighbors_of_a_class_far_away,
    neighbors_of_a_negative_class,
    more_neighbors_than_rows,
    neighbors_of_narrower_rows,
    fewer_neighbors_than_classes,
    sparse_rows_with_an_index_far_away,
    sparse_coefficients_with_a_negative_index,
    sparse_coefficients_without_elements,
    support_vectors_of_other_classes,
    support_vectors_without_coefficients,
    precomputed_kernel_far_away,
    a_tree_with_a_node_far_away,
    a_tree_with_many_outputs,
    a_tree_that_does_not_check_its_rows,
    boosting_with_a_hidden_tree,
    histogram_boosting_in_the_middle_of_a_fit,
    a_word_of_a_column_far_away,
    a_category_of_a_column_far_away,
    a_random_state_far_away,
]


@pytest.mark.parametrize("forge", CRASHES, ids=lambda forge: forge.__name__)
def test_a_file_with_an_index_out_of_range_is_refused(reader, path, forge):
    forge(path)

    answer = reader.read(path, X[:3])

    assert answer["outcome"] == "UserInputError", answer
    assert "the file is damaged or malicious" in answer["message"]


# Files that would take much more memory than their size explains.


def a_large_constant_array(path):
    write(path, LogisticRegression().fit(X, Y))
    change_array(path, "coef_", lambda _: np.zeros((1, 5 * 10**7)))


def a_large_bytearray(path):
    write(path, LogisticRegression().fit(X, Y))
    node = {"__class__": "bytearray", "__module__": "builtins", "__loader__": "BytearrayNode", "__id__": 10**9}
    rewrite(
        path, lambda schema: add_attribute(schema, "note", {**node, "file": "note.bin"}), **{"note.bin": bytes(10**8)}
    )


def an_array_with_a_large_shape(path):
    write(path, LogisticRegression().fit(X, Y))
    name = attributes(schema_of(path))["coef_"]["file"]
    content = packed_array(np.zeros((1, 4)))
    forged = content.replace(b"(1, 4), }", b"(1, 9999999999), }")
    header_size = struct.unpack("<H", content[8:10])[0]
    forged = forged[:10] + forged[10 : 10 + header_size].ljust(header_size) + bytes(32)
    rewrite(path, **{name: forged})


def an_empty_array_with_a_large_shape(path):
    write(path, LogisticRegression().fit(X, Y))
    change_array(path, "coef_", lambda _: np.zeros((0, 10**15)))


def an_array_used_a_thousand_times(path):
    write(path, LogisticRegression().fit(X, Y))
    change_array(path, "coef_", lambda _: np.random.default_rng(0).random((1, 10**6)))

    def change(schema):
        node = attributes(schema)["coef_"]
        for number in range(1000):
            add_attribute(schema, f"coef_{number}", {**node, "__id__": 10**9 + number})

    rewrite(path, change)


def an_array_of_objects_copied_a_thousand_times(path):
    write(path, LogisticRegression().fit(X, Y))
    change_array(path, "coef_", lambda _: np.random.default_rng(0).random((1, 10**6)))

    def change(schema):
        node = attributes(schema)["coef_"]
        shape = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "__id__": 10**9}
        shape["content"] = [json_node(1000, 10**9 + 1), json_node(1, 10**9 + 2)]
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": 10**9 + 3}
        add_attribute(schema, "many", {**array, "type": "json", "content": [node] * 1000, "shape": shape})

    rewrite(path, change)


def a_matrix_that_is_a_zip_bomb(path):
    write(path, SGDClassifier().fit(X, Y).sparsify())
    change_matrix(path, "coef_", data=lambda _: np.zeros(5 * 10**7))


def a_description_of_many_lists(path):
    write(path, LogisticRegression().fit(X, Y))
    add_text(path, ', "more": [' + "[]," * 10**7 + "[]]")


def a_value_of_many_lists(path):
    write(path, LogisticRegression().fit(X, Y))
    forged = json_node(0) | {"content": "[" + "[]," * 10**7 + "[]]"}
    rewrite(path, lambda schema: attributes(schema)["C"].update(forged))


def a_deep_description(path):
    write(path, LogisticRegression().fit(X, Y))
    add_text(path, ', "more": ' + "[" * 10**6 + "]" * 10**6)


def add_text(path, text):
    """Add text to the end of the outermost object."""
    with zipfile.ZipFile(path) as archive:
        before = archive.read("schema.json").decode()
    rewrite(path, **{"schema.json": before[:-1] + text + "}"})


def a_large_random_seed(path):
    write(path, HistGradientBoostingClassifier(max_iter=2).fit(X, Y))
    number = next(node for node in walk(schema_of(path)) if "pool_size" in node)["pool_size"]["__id__"]
    rewrite(path, lambda schema: replace_numbered(schema, number, json_node(10**10, number)))


def a_directory_that_lies(path):
    """The entry unpacks to 400 MB, and its size and checksum are those of its first 100 bytes."""
    write(path, LogisticRegression().fit(X, Y))
    name = "9.npy"
    rewrite(path, **{name: bytes(4 * 10**8)})
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(name)
    sizes = struct.pack("<LLL", entry.CRC, entry.compress_size, entry.file_size)
    forged = struct.pack("<LLL", zlib.crc32(bytes(100)), entry.compress_size, 100)
    assert content.count(sizes) == 2
    path.write_bytes(content.replace(sizes, forged))


BOMBS = [
    a_large_constant_array,
    a_large_bytearray,
    an_array_with_a_large_shape,
    an_empty_array_with_a_large_shape,
    an_array_used_a_thousand_times,
    an_array_of_objects_copied_a_thousand_times,
    a_matrix_that_is_a_zip_bomb,
    a_description_of_many_lists,
    a_value_of_many_lists,
    a_deep_description,
    a_large_random_seed,
    a_directory_that_lies,
]


@pytest.mark.slow
@pytest.mark.parametrize("forge", BOMBS, ids=lambda forge: forge.__name__)
def test_a_file_that_asks_for_much_memory_is_refused_in_little(reader, path, forge):
    forge(path)

    answer = reader.read(path)

    assert answer["outcome"] == "UserInputError", answer
    assert "the file is damaged or malicious" in answer["message"]
    assert answer["mb"] < MAX_MB


# Types that are not on the list, or not with that loader.


def an_array_from_a_constructor(path):
    write(path, LogisticRegression().fit(X, Y))
    shape = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "__id__": 10**9}
    shape["content"] = [json_node(10**11, 10**9 + 1)]
    node = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "ConstructorFromReduceNode",
        "__id__": 10**9 + 2,
    }
    rewrite(path, lambda schema: add_attribute(schema, "note", {**node, "content": shape}))
    return "numpy.ndarray"


def a_void_of_any_size(path):
    write(path, LogisticRegression().fit(X, Y))
    name = attributes(schema_of(path))["coef_"]["file"]
    change_array(path, "coef_", lambda _: np.array(10**11))
    node = {"__class__": "void", "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": 10**9, "type": "numpy"}
    rewrite(path, lambda schema: attributes(schema).update(coef_={**node, "file": name}))
    return "numpy.void"


def a_memory_map(path):
    write(path, LogisticRegression().fit(X, Y))
    rewrite(path, lambda schema: attributes(schema)["coef_"].update(__class__="memmap"))
    return "numpy.memmap"


def neighbors_in_a_tree(path):
    write(path, KNeighborsClassifier(algorithm="kd_tree").fit(X, Y))
    return "sklearn.neighbors._kd_tree.KDTree"


def an_estimator_that_is_not_checked(path):
    write(path, RadiusNeighborsClassifier(algorithm="brute", radius=9).fit(X, Y))
    return "sklearn.neighbors._classification.RadiusNeighborsClassifier"


def a_function_of_scipy(path):
    write(path, LogisticRegression().fit(X, Y))
    node = {"__class__": "expit", "__module__": "scipy.special", "__loader__": "FunctionNode", "__id__": 10**9}
    rewrite(path, lambda schema: add_attribute(schema, "note", node))
    return "scipy.special.expit"


@pytest.mark.parametrize(
    "forge",
    [
        an_array_from_a_constructor,
        a_void_of_any_size,
        a_memory_map,
        neighbors_in_a_tree,
        an_estimator_that_is_not_checked,
        a_function_of_scipy,
    ],
    ids=lambda forge: forge.__name__,
)
def test_a_type_that_is_not_on_the_list_is_named(reader, path, forge):
    name = forge(path)

    answer = reader.read(path, X[:3])

    assert answer["outcome"] == "UntrustedTypes", answer
    assert name in answer["message"].split(", ")


# Descriptions that are not those of skops.


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: {**schema, "protocol": 0},
        lambda schema: {**schema, "protocol": None},
        lambda schema: {"protocol": 2},
        lambda schema: [0],
        lambda schema: {**schema, "more": {"__class__": "dict"}},
        lambda schema: {**schema, "more": {**schema, "__loader__": ["ObjectNode"]}},
        lambda schema: attributes(schema)["coef_"].update(file="absent.npy"),
        lambda schema: attributes(schema)["coef_"].update(file="schema.json"),
        lambda schema: attributes(schema)["C"].update(content=3),
        lambda schema: attributes(schema).update(C=json_node(3, attributes(schema)["tol"]["__id__"])),
    ],
)
def test_a_description_that_skops_does_not_write_is_refused(reader, path, change):
    write(path, LogisticRegression().fit(X, Y))
    rewrite(path, change)

    assert reader.read(path, X[:3])["outcome"] == "UserInputError"


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), KNeighborsClassifier(algorithm="brute"), SVC(), RandomForestClassifier(3), GaussianNB()],
)
def test_an_honest_file_is_used(reader, path, model):
    write(path, model.fit(X, Y))

    answer = reader.read(path, X[:3])

    assert answer["outcome"] == "predicted", answer


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(2, max_depth=2),
    "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
    "neighbors": KNeighborsClassifier(algorithm="brute"),
    "sparse neighbors": KNeighborsClassifier(),
    "support vectors": SVC(),
    "one-hot": make_pipeline(
        OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"), LogisticRegression()
    ),
}

NUMBERS = st.sampled_from([-1, 0, 1, 3, 4, 60, 255, 10**6, -(2**31), 2**31 - 1, 2**40, 10**10])


@pytest.fixture(scope="module")
def honest_entries(tmp_path_factory):
    """The entries of an honest file of each model."""
    path = tmp_path_factory.mktemp("honest") / "model.skops"
    entries = {}
    for name, model in MODELS.items():
        write(path, clone(model).fit(sparse.csr_matrix(X) if name.startswith("sparse") else X, Y))
        with zipfile.ZipFile(path) as archive:
            entries[name] = {entry: archive.read(entry) for entry in archive.namelist()}
    return entries


def forge_numbers(data, content):
    """Change one number of an array of whole numbers, or its length."""
    array = np.load(io.BytesIO(content))
    if data.draw(st.booleans(), "shorten") and array.ndim:
        return packed_array(array[: data.draw(st.integers(0, len(array)), "length")])
    fields = [name for name in array.dtype.names or () if array.dtype[name].kind in "iu"]
    part = array[data.draw(st.sampled_from(fields), "field")] if fields else array
    if part.dtype.kind in "iu" and part.size:
        index = data.draw(st.integers(0, part.size - 1), "index")
        part.flat[index] = np.asarray(data.draw(NUMBERS, "number")).astype(part.dtype)
    return packed_array(array)


def forge_value(data, content):
    """Change one plain value of the description, wherever it stands."""
    schema = json.loads(content)
    nodes = [node for node in walk(schema) if node.get("__loader__") == "JsonNode"]
    number = data.draw(st.sampled_from(sorted({node["__id__"] for node in nodes})), "node")
    value = json.dumps(
        data.draw(NUMBERS | st.sampled_from([None, True, "x", "precomputed", 0.5, [3], {"V": 1}]), "value")
    )
    for node in nodes:
        if node["__id__"] == number:
            node["content"] = value
    return json.dumps(schema)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_numbers_a_file_holds_predicting_never_crashes(reader, honest_entries, path, name, data):
    entries = dict(honest_entries[name])
    for _ in range(data.draw(st.integers(1, 3), "changes")):
        arrays = sorted(entry for entry in entries if entry.endswith(".npy"))
        entry = data.draw(st.sampled_from([*arrays, "schema.json"]), "entry")
        entries[entry] = (forge_value if entry == "schema.json" else forge_numbers)(data, entries[entry])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)

    answer = reader.read(path, data.draw(st.sampled_from([X[:3], X[:3, :1], X[:3] + 100.5]), "rows").tolist())

    assert answer["outcome"] in ("UserInputError", "UntrustedTypes", "predicted", "raised"), answer
