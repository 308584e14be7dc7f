"""docs/architecture.md says what the import contract enforces."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_layers_of_the_document_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["name"] == "layers")["layers"]
    contract = [set(layer.split(" | ")) for layer in layers]
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    document: dict[str, set[str]] = {}
    for layer, package in rows:
        document.setdefault(layer, set()).add(package)
    assert [document[layer] for layer in sorted(document, key=int, reverse=True)] == contract


def test_every_package_has_a_place() -> None:
    packages = {p.name for p in (ROOT / "src" / "warploom").iterdir() if (p / "__init__.py").exists()}
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert packages == set(re.findall(r"^\| \d+ \| `(\w+)` \|", text, re.MULTILINE))


def test_files_named_in_the_document_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        assert (ROOT / "src" / "warploom" / name).exists() or (ROOT / name).exists(), name


def test_packages_say_what_enters_and_leaves_and_which_file_to_open() -> None:
    for path in (ROOT / "src" / "warploom").rglob("__init__.py"):
        text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
        assert re.search(r"\bTakes ", text) and re.search(r"\bGives ", text), f"{path}: what enters, what leaves"
        opened = re.findall(r"\b[Oo]pen (?!it\b|these\b)(.*?)(?:[.;:] |[.;:]?$)", text) or [text]
        named = re.findall(r"`([\w/]+\.pyi?)`", " ".join(opened)) if re.search(r"\b[Oo]pen\b", text) else []
        assert named, f"{path}: which file to open first"
        for name in named:
            assert (path.parent / name).exists() or (ROOT / "src" / name).exists(), f"{path}: {name}"


def test_nodes_are_frozen_slotted_dataclasses() -> None:
    for path in (ROOT / "src" / "warploom").rglob("nodes.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not {"StrEnum", "NamedTuple"} & {ast.unparse(b) for b in node.bases}:
                marks = {ast.unparse(word) for d in node.decorator_list if isinstance(d, ast.Call) for word in d.keywords}
                assert {"frozen=True", "slots=True"} <= marks, f"{path}: {node.name}"


def test_files_are_about_a_noun_and_not_long() -> None:
    files = list((ROOT / "src" / "warploom").rglob("*.py"))
    assert not [path for path in files if path.name == "utils.py"]
    assert not [path for path in files if len(path.read_text().splitlines()) > 600], (
        "about 400 lines; split the file by its nouns"
    )


def test_notes_begin_with_what_they_are_about() -> None:
    folders = ("src/warploom", "tests", "benchmarks", "examples", "docs/generate")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        found = re.search(r'^ *(?:r?"""|# )(?:Of|What|Those|To be) .*', path.read_text(), re.MULTILINE)
        assert not found, f"{path}: name the thing first: {found and found[0]}"


def test_tests_mirror_the_packages() -> None:
    own = {"printed", "corpus", "fuzz", "interpreter"}
    folders = [p for p in (ROOT / "tests").rglob("*") if p.is_dir() and not {*own, "__pycache__"} & {*p.parts}]
    assert not [p for p in folders if not (ROOT / "src" / "warploom" / p.relative_to(ROOT / "tests")).is_dir()]


def test_records_name_no_folder_of_a_machine() -> None:
    for path in (ROOT / "benchmarks" / "results").glob("*.jsonl"):
        assert not re.search(r"""[( "']/(work|home|root|tmp|usr|opt|Users)/""", path.read_text()), path.name
