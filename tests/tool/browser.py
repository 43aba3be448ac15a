"""A browser without a window, told what to do through pipes: no driver, no port.

  with Browser(width=1200, height=800) as page:
      page.open(path)
      page.run("1 + 1")
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def found():
    """The browser's program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, width=1200, height=800, scale=1, dark=False):
        self.folder = tempfile.mkdtemp()
        self.number = 0
        self.errors = []  # what the console said of errors, and exceptions
        self.requests = []  # addresses that the page asked for
        self.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height, scale)
        self.prefer(dark)

    def start(self):
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()
        command = [found(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--hide-scrollbars", "--user-data-dir=" + self.folder]
        # It reads from 3 and writes to 4; both ends are moved out of the way first.
        ends = [os.dup2(end, 100 + i) for i, end in enumerate((to_read, to_write))]
        shell = 'exec "$@" 3<&%d 4>&%d' % tuple(ends)
        self.process = subprocess.Popen(["bash", "-c", shell, "browser", *command], pass_fds=ends,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.rest = b""
        self.session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.to_read)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- The protocol: messages of JSON that end in a zero byte

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.to_read, 1 << 16)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(what["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
            self.errors.append(json.dumps(what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.errors.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"][:100])

    def call(self, method, **what):
        self.number += 1
        message = {"id": self.number, "method": method, "params": what}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                break
            self.note(answer)
        if "error" in answer:
            raise RuntimeError(method + ": " + json.dumps(answer["error"]))
        return answer["result"]

    # ---- What a test does

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def run(self, script):
        """The value of an expression; that of a promise when it has one."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, script, seconds=30):
        """Asks until the expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise RuntimeError("never true: " + script)
            self.run("new Promise(requestAnimationFrame)")

    def open(self, path, ready="window.cuarena !== undefined"):
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.until("document.readyState === 'complete' && " + ready)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def touch(self, kind, *points):
        """touchStart, touchMove or touchEnd of fingers at these places."""
        self.call("Input.dispatchTouchEvent", type=kind,
                  touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      **(text if kind == "keyDown" else {}))

    def picture(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(data["data"]))
