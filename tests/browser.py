"""Headless Chromium, spoken to through a pipe by its own protocol: sizes, colour schemes, keys, what a screen reader is told.

Chromium is no package of Python; Debian's is `chromium`. Tests that use it are skipped where there is none.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="expected Chromium, found none: pages are unchecked in a browser here")
_LIMIT_S = 60
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
    "--remote-debugging-pipe", "--force-color-profile=srgb",
)  # fmt: skip
_CHECKS = (Path(__file__).parent / "browser.js").read_text(encoding="utf-8")


class Tab:
    """One page of the browser."""

    def __init__(self, process: subprocess.Popen[bytes], read: int, write: int) -> None:
        self._process, self._read, self._write = process, read, write
        self._number, self._rest, self._session = 0, b"", ""
        self.errors: list[str] = []
        """Exceptions and errors of the page's scripts since it was opened."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _LIMIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"expected an answer of the browser within {_LIMIT_S} s"
            self._rest += os.read(self._read, 1 << 20)
        whole, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])
        return message

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False, anchor: str = "") -> None:
        """Shows a file; sizes in CSS pixels."""
        self.errors.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"{path.resolve().as_uri()}{anchor}")
        end = time.monotonic() + _LIMIT_S
        while self.ask("location.href == 'about:blank' || document.readyState != 'complete'"):
            assert time.monotonic() < end, f"expected {path} to be shown within {_LIMIT_S} s"
            time.sleep(0.02)

    def ask(self, script: str) -> Any:
        """Value of an expression of JavaScript."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36}[key]
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key, windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )  # fmt: skip

    def complaints(self) -> dict[str, list[str]]:
        """Faults of the page as it stands, by kind; empty lists where there are none.

        overflowing: elements wider than the page. cut: texts that reach beyond their drawing. faint: texts outside of drawings
        with a contrast below 4.5. unreachable: boxes that only a mouse can scroll.
        """
        found: dict[str, list[str]] = self.ask(_CHECKS)
        return {name: list(found[name]) for name in ("overflowing", "cut", "faint", "unreachable")}

    def is_dark(self) -> bool:
        return bool(self.ask(_CHECKS)["dark"])

    def told(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader is told of, in order."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored") and "role" in n]

    def picture(self) -> bytes:
        """The whole page as PNG."""
        height = self.ask("Math.ceil(document.documentElement.scrollHeight)")
        width = self.ask("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser whose profile lies in the folder; it ends with the block."""
    assert PROGRAM is not None
    from_browser, to_us = os.pipe()
    to_browser, from_us = os.pipe()

    def given() -> None:
        os.dup2(to_browser_copy, 3)
        os.dup2(to_us_copy, 4)

    # The numbers 3 and 4 may be those of the pipes themselves, so copies far from them are handed over.
    to_browser_copy, to_us_copy = (_far(number) for number in (to_browser, to_us))
    command = [PROGRAM, *_FLAGS, f"--user-data-dir={folder / 'profile'}"]
    process = subprocess.Popen(
        command, preexec_fn=given, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    for number in (to_browser, to_us, to_browser_copy, to_us_copy):
        os.close(number)
    try:
        yield Tab(process, from_browser, from_us)
    finally:
        os.close(from_us)
        process.terminate()
        process.wait(timeout=_LIMIT_S)
        os.close(from_browser)


def _far(number: int) -> int:
    copied = fcntl.fcntl(number, fcntl.F_DUPFD, 50)
    os.set_inheritable(copied, True)
    return copied
