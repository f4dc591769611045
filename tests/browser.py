"""A headless Chromium, driven through its DevTools protocol over a pair of pipes."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Passing file descriptors to a child needs POSIX.
CHROMIUM = next((path for path in map(shutil.which, EXECUTABLES) if path), None) if os.name == "posix" else None
# No sandbox, because containers often have none; no background traffic.
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions"),
)
# Chromium reads descriptor 3 and writes descriptor 4. Our pipes may have any numbers, including these.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def open_browser():
    """Start a browser with one empty tab."""
    to_browser, ours_out = os.pipe()
    ours_in, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        ends = (to_browser, from_browser)
        start = (sys.executable, "-I", "-S", "-c", LAUNCH, *map(str, ends), CHROMIUM)
        command = (*start, *SWITCHES, f"--user-data-dir={profile}", "about:blank")
        process = subprocess.Popen(command, pass_fds=ends, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Browser(ours_in, ours_out)
        finally:
            os.close(ours_out)
            os.close(ours_in)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Browser:
    """One tab: opens pages, runs scripts, takes screenshots, and records events of the page."""

    def __init__(self, ours_in, ours_out):
        self._in, self._out = ours_in, ours_out
        self._numbers = itertools.count(1)
        self._unread = b""
        self._session = None
        self.events = []
        target = next(one for one in self.send("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        """Send one command and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read_message()
            if reply.get("id") == number:
                assert "error" not in reply, reply
                return reply["result"]
            self.events.append(reply)

    def _read_message(self):
        end = time.monotonic() + 60
        while b"\0" not in self._unread:
            assert select.select([self._in], [], [], end - time.monotonic())[0], (
                "no message from the browser within 60 s"
            )
            self._unread += os.read(self._in, 1 << 16)
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def open(self, path, *, width=1000, dark=False, medium="screen"):
        """Open a file at this width, in light or dark mode."""
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read_message())

    def run(self, expression):
        """Return the value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector):
        """Click the middle of an element."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{where}.scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({where}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def console_messages(self):
        """Return console messages, errors and dialogs of the page."""
        self.run("1")
        kinds = (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self):
        """Return every URL that the page requested."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def take_screenshot(self):
        """Return the whole page as PNG."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def print_to_pdf(self):
        """Return the page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=False)["data"])
