"""A headless Chromium, spoken to over its pipe: opens a page, reads it, photographs it."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile


def find():
    """Returns the path of a Chromium; None when there is none."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """A context manager with one page of this size."""

    def __init__(self, width, height):
        self.size = {"width": width, "height": height}
        self.number, self.read = 0, b""
        # what it reported by itself since the page was opened
        self.events = []
        self.profile = tempfile.TemporaryDirectory(
            prefix="stead-chromium-", ignore_cleanup_errors=True
        )

    def __enter__(self):
        # Chromium reads its file descriptor 3, and writes 4
        theirs, self.to = os.pipe()
        self.of, also_theirs = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]

        def give():
            # out of the way first, in case they have these numbers
            pipes = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs, also_theirs)]
            os.dup2(pipes[0], 3)
            os.dup2(pipes[1], 4)

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=give,  # noqa: PLW1509  no thread of this process is in a library
        )
        os.close(theirs)
        os.close(also_theirs)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **self.size,
            deviceScaleFactor=1,
            mobile=False,
        )
        return self

    def __exit__(self, *_):
        self.session = None
        self.call("Browser.close")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Calls a method of the DevTools protocol, and returns its result."""
        number = self.send(method, **parameters)
        while True:
            answer = self.next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def send(self, method, **parameters):
        """Sends a call, and returns its number."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        return self.number

    def next(self):
        """Waits for the next message."""
        while b"\0" not in self.read:
            more = os.read(self.of, 1 << 20)
            assert more, "Chromium has ended"
            self.read += more
        line, _, self.read = self.read.partition(b"\0")
        return json.loads(line)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def load(self, url):
        """Opens a page and waits until it is loaded; from then on `events` has what it
        reports.
        """
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            self.call(f"{domain}.enable")
        self.events = []
        self.open(url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.next())

    def complaints(self):
        """Returns what the page wrote to the console, what it threw, and what its policy
        refused.
        """
        self.value("0")  # so that everything before is in `events`
        methods = (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        )
        return [e["params"] for e in self.events if e.get("method") in methods]

    def requests(self):
        """Returns the addresses that the page asked for."""
        self.value("0")
        method = "Network.requestWillBeSent"
        sent = [e["params"] for e in self.events if e.get("method") == method]
        return [params["request"]["url"] for params in sent]

    def prefers(self, **features):
        """Makes the page believe what its user prefers: prefers(color_scheme="dark")."""
        wanted = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def resize(self, width, height):
        self.size = {"width": width, "height": height}
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **self.size,
            deviceScaleFactor=1,
            mobile=False,
        )

    def type(self, text):
        """Types a text into the element that has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key, shift=False):
        """Presses a key, such as Tab or Enter."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "Backspace": 8}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code="Space" if key == " " else key,
                windowsVirtualKeyCode=codes[key],
                modifiers=8 if shift else 0,
                **({"text": text} if text and kind == "keyDown" else {}),
            )

    def point_at(self, selector, click=True):
        """Moves the mouse to the middle of an element, and clicks there."""
        place = self.value(
            "(() => { const e = document.querySelector("
            + json.dumps(selector)
            + "); e.scrollIntoView({block: 'center', inline: 'center'});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        where = {"x": place[0], "y": place[1]}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **where)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                button="left",
                clickCount=1,
                **where,
            )

    def printed(self, file):
        """Writes the page as a printer would get it, as a PDF."""
        done = self.call("Page.printToPDF", preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(done["data"]))

    def value(self, expression):
        """Returns the value of an expression of JavaScript, or what its promise gives."""
        done = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def picture(self, file, whole=True):
        """Writes a picture of the whole page, or of what is seen of it, as a PNG."""
        page = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "scale": 1, **self.size}
        if whole:
            clip["height"] = max(page["height"], self.size["height"])
        taken = self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip=clip
        )
        file.write_bytes(base64.b64decode(taken["data"]))
