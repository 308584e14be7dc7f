"""docs/architecture.md says what the import contract enforces."""

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
