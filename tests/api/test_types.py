"""pyright accepts the README's sketch, its example of the API, and `examples/conv1d.py`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_users_programs_pass_the_type_checker(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)
    texts = [block for block in blocks if "@wl.sketch" in block or "wl.lift(" in block]
    assert len(texts) == 2
    texts[1] = texts[1].replace("from conv1d import conv1d", "from sketch import conv1d")
    for name, text in zip(("sketch.py", "program.py"), texts, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "example.py").write_text((ROOT / "examples/conv1d.py").read_text(encoding="utf-8"), encoding="utf-8")
    options = {"include": ["."], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "standard", "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        pytest.skip("pyright cannot run here")
    assert found["summary"]["filesAnalyzed"] == 3
    assert [f"{d['file']}:{d['range']['start']['line'] + 1}: {d['message']}" for d in found["generalDiagnostics"]] == []
