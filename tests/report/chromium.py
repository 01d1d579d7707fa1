"""One headless Chromium, driven by its own protocol: real keys and clicks, window sizes, themes, paper."""

from __future__ import annotations

import base64
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

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120.0
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9, "Enter": 13}


class Tab:
    """A page in the browser; what it says on its console, or violates, is kept in ``said``."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from, self._number, self._buffer = to_browser, from_browser, 0, b""
        self._session: str | None = None
        self.said: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {} if self._session is None else {"sessionId": self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, page: Path) -> None:
        """Load the page and wait until it is there."""
        self._loaded, self.said = False, []
        self.call("Page.navigate", url=page.as_uri())
        while not self._loaded:
            self._next()

    def look(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Give the window a width and a theme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as a hand would press it."""
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def click(self, selector: str, *, across: float = 0.5) -> None:
        """The mouse on an element, ``across`` of its width from the left."""
        self.run(
            f"document.querySelector('{selector}').scrollIntoView({{block: 'center', behavior: 'instant'}})"
        )
        box = self.run(
            f"(() => {{ const b = document.querySelector('{selector}').getBoundingClientRect();"
            " return [b.x, b.y, b.width, b.height]; })()"
        )
        place = {"x": box[0] + across * box[2], "y": box[1] + box[3] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **place)

    def picture(self, *, whole: bool = False) -> bytes:
        """A PNG of what the window shows, or of the whole page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def paper(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            assert select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0], "no answer"
            got = os.read(self._from, 1 << 20)
            assert got, "the browser went away"
            self._buffer += got
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        self._heed(message)
        return message

    def _heed(self, message: dict[str, Any]) -> None:
        method, told = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(one.get("value")) for one in told["args"]))
        elif method == "Runtime.exceptionThrown":
            self.said.append(told["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.said.append(told["entry"]["text"])


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A browser with an empty profile, for as long as the block lasts."""
    assert CHROMIUM is not None
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()

    def take_pipes() -> None:  # the protocol is spoken on the descriptors 3 and 4
        spare = [os.dup(theirs_in), os.dup(theirs_out)]
        os.dup2(spare[0], 3)
        os.dup2(spare[1], 4)

    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
        preexec_fn=take_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    for one in (theirs_in, theirs_out):
        os.close(one)
    try:
        yield Tab(ours_out, ours_in)
    finally:
        process.kill()
        process.wait()
        for one in (ours_in, ours_out):
            os.close(one)
