"""Driving a browser: Chromium's own protocol over two pipes, with nothing in between."""

import base64
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

FLAGS = (
    "--headless=shell",
    "--no-sandbox",  # it shows nothing but pages of our own, also where tests run as root
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4; this process may have others there.
START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(read, 3, inheritable=True)
os.dup2(write, 4, inheritable=True)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 20.0  # seconds for an answer


class Browser:
    """A running Chromium."""

    def __init__(self, executable, environment, profile):
        theirs_in, self.commands = os.pipe()
        self.answers, theirs_out = os.pipe()
        command = [sys.executable, "-S", "-c", START, theirs_in, theirs_out, executable]
        self.process = subprocess.Popen(
            [*map(str, command), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.count, self.pages = b"", 0, {}

    def call(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        mine, deadline = self.count, time.monotonic() + PATIENCE
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == mine:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            page = self.pages.get(answer.get("sessionId"))
            if page is not None:
                page.events.append(answer)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width=1280, height=900, dark=False, scale=1):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height, scale)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=Path(path).resolve().as_uri())
        page.wait("document.documentElement?.dataset.ready === 'true'")
        page.settle()
        return page

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)


class Page:
    """One open page."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.events = []

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, expression):
        """The value of an expression; what it throws is thrown here."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "it threw"))
        return answer["result"].get("value")

    def wait(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never came true: {condition}")
            time.sleep(0.02)

    def settle(self):
        """Until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def resize(self, width, height=900, scale=1):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def hover(self, selector, across, up):
        """Move the mouse over the area of a plot: shares of its width and height, from the lower left."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); "
            "return [b.left, b.bottom, b.width, b.height]; })()"
        )
        x, y = box[0] + across * box[2], box[1] - up * box[3]
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def key(self, name, code=None):
        """Press a key where the focus is."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code or 0)
        self.settle()

    def set(self, selector, value, event="input"):
        """Give a control a value, as a user does."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(str(value))}; "
            f"e.dispatchEvent(new Event({json.dumps(event)}, {{bubbles: true}})); }})()"
        )
        self.settle()

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent")

    def complaints(self):
        """What went wrong so far: errors on the console, exceptions, refused resources."""
        self.run("0")
        return [
            event["params"]
            for event in self.events
            if event["method"] == "Runtime.exceptionThrown"
            or (event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"))
            or (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"))
        ]

    def requests(self):
        """Addresses of everything that was asked for, beside the page itself."""
        sent = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return sent[1:] if sent and sent[0].startswith("file:") else sent

    def screenshot(self, path, whole=True):
        size = self.run("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}} if whole else {}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **clip)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        self.browser.pages.pop(self.session, None)
