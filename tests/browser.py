"""A real browser without a window, driven through its own protocol over a pair of pipes."""

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

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Descriptors are handed down as POSIX does it.
FOUND = next((path for path in map(shutil.which, NAMES) if path), None) if os.name == "posix" else None
# Without a sandbox, because a container often has none; without anything that would go out to the network.
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions"),
)
# The protocol is spoken on descriptors 3 and 4; the ends of our pipes may have any numbers, these two included.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def opened():
    """A browser with one empty tab."""
    to_browser, ours_out = os.pipe()
    ours_in, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        ends = (to_browser, from_browser)
        start = (sys.executable, "-I", "-S", "-c", LAUNCH, *map(str, ends), FOUND)
        words = (*start, *SWITCHES, f"--user-data-dir={profile}", "about:blank")
        process = subprocess.Popen(words, pass_fds=ends, stderr=subprocess.DEVNULL)
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
    """One tab: opens pages, runs script in them, takes pictures, and notes what the page complains about."""

    def __init__(self, ours_in, ours_out):
        self._in, self._out = ours_in, ours_out
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session = None
        self.events = []
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """The browser's answer to one command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _message(self):
        end = time.monotonic() + 60
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], end - time.monotonic())[0], "the browser says nothing"
            self._rest += os.read(self._in, 1 << 16)
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, path, *, width=1000, dark=False, medium="screen"):
        """Go to a file, at that width, in the light or in the dark."""
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def run(self, expression):
        """The value of a script."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector):
        """A real click in the middle of an element."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{where}.scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({where}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def complaints(self):
        """What the page wrote to the console, and every error."""
        self.run("1")
        kinds = (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self):
        """Every address that was asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self):
        """The whole page as PNG."""
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])
