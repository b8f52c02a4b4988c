"""Generates protocol lines from a seed: valid, nearly valid and garbage. It knows what
an rrdcached and the router must answer to each.

A conversation is what one connection sends. Most of its lines go to a single rrdcached
and to the router, and their answers must be equal. Some lines go to the router alone,
because rrdcached dies of them, answers with random parts of its memory, or closes the
connection. The router must answer each of those with an error and continue.

The choices follow from rrdcached 1.7.2, and were tried on it. An answer of more than
4,095 bytes contains bytes of its stack. It takes a line of more than 8,192 for the end
of the connection. More than 128 words DS: and RRA: overwrite its stack. A NUL ends a
word.
"""

import random
import re

START = 1_700_000_000
WITH_PATH = b"UPDATE FLUSH PENDING FORGET FETCH FETCHBIN INFO FIRST LAST CREATE SUSPEND RESUME".split()
# how many files are in use at a time; older ones are left as they are and compared at
# the end
POOL = 24
# the numbers that the router accepts
NUMBER = rb"[+-]?(inf|infinity|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)"

# what these types of columns take
TAKES = {b"COUNTER": rb"\d+", b"DERIVE": rb"-?\d+"}


def field(line):
    """Returns the first word without its backslashes, the text after it, and whether
    the line ends in a single backslash.
    """
    text, at = bytearray(), 0
    while at < len(line):
        byte = line[at : at + 1]
        if byte == b" ":
            return bytes(text), line[at + 1 :], False
        if byte == b"\\":
            at += 1
            byte = line[at : at + 1]
            if not byte:
                return bytes(text), b"", True
        text += byte
        at += 1
    return bytes(text), b"", False


def split(line):
    """Returns the words of a line, and whether it ends in a single backslash.
    `UPDATE f ` has three words, and the last one is empty.
    """
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    words, rest = [], line
    while True:
        word, after, loose = field(rest)
        words.append(word)
        if loose:
            return words, True
        # nothing after it: was there a blank?
        if not after:
            if rest.endswith(b" ") and not rest.endswith(b"\\ "):
                words.append(b"")
            return words, False
        rest = after


def escaped(name):
    return name.replace(b"\\", b"\\\\").replace(b" ", b"\\ ")


def writable(value, kinds=None):
    """Returns whether the router passes a value on. It refuses values that rrdcached
    would accept and later drop, with all values after them, when it writes them.
    `kinds` are the types of the file's columns, if the file exists.
    """
    time, *values = value.split(b":")
    plain = field(time)[0].lstrip(b" \t\n\v\f\r").removeprefix(b"+")
    if not re.match(rb"\.?\d", plain):
        return True  # rrdcached refuses it
    if not re.fullmatch(NUMBER, time, re.IGNORECASE) or float(time) >= 2**40:
        return False
    if not all(
        each == b"U" or re.fullmatch(NUMBER, each, re.IGNORECASE) for each in values
    ):
        return False
    if kinds is None or not values:
        return True  # there is no such file, or rrdcached sees no time
    return len(values) == len(kinds) and all(
        each == b"U"
        or re.fullmatch(TAKES.get(kind, NUMBER), each, re.IGNORECASE)
        and not is_beyond_rrdtool(each)
        for kind, each in zip(kinds, values)
    )


def is_beyond_rrdtool(number):
    """Returns whether the exponent, with the decimals, is beyond those of a float: rrdtool
    then cannot read the number.
    """
    parts = re.fullmatch(rb"[+-]?\d*\.?(\d*)e([+-]?\d+)", number, re.IGNORECASE)
    return bool(parts) and not -1021 <= int(parts[2]) - len(parts[1]) <= 1024


class Line:
    """One line, with its end. If only the router gets it, `alone` says why."""

    def __init__(self, text, alone=None):
        self.text, self.alone = text, alone
        self.words, self.loose = split(text)
        self.verb = self.words[0].upper()

    def __repr__(self):
        return repr(
            self.text
            if len(self.text) < 300
            else self.text[:200] + b"..." + self.text[-60:]
        )


class Lines:
    """Generates one conversation after the other, always the same ones for a seed."""

    def __init__(self, seed, base):
        self.choice, self.base = random.Random(seed), base
        self.files = {}  # in use: name -> [time, columns]
        # the types of the columns of every file that was created
        self.created, self.made = 0, {}
        # kinds of lines that are not sent to the router; whether its answers are
        # awaited at the end
        self.without, self.polite = (), False

    def conversation(self):
        """Returns the lines of one connection."""
        lines = []
        while len(self.files) < POOL:
            lines += self.create()
        lines += self.create()
        while len(self.files) > POOL:
            del self.files[next(iter(self.files))]
        for _ in range(self.choice.choice((1, 5, 50, 200))):
            lines += self.batch() if self.choice.random() < 0.03 else self.unit()
        if self.polite:
            lines.append(Line(b"PING\n"))
        end = self.choice.random()
        if end < 0.1:
            # this takes long, so only lines that wait for it may follow
            lines.append(Line(b"FLUSHALL\n"))
        elif end < 0.2:
            lines += [Line(b"QUIT\n"), Line(b"PING\n"), Line(self.update()[0].text)][
                : self.choice.randrange(1, 4)
            ]
        elif end < 0.3:
            lines += [Line(b"BATCH\n"), Line(b"bogus\n")]  # a batch without an end
        elif end < 0.4:
            lines.append(Line(self.update()[0].text[:-1]))  # half a line
        return [line for line in lines if line.alone not in self.without]

    def chunks(self, data):
        """Cuts the bytes into pieces of any size. It has a random sequence of its own,
        because a connection may end before all pieces are sent.
        """
        choice = random.Random(len(data))
        most = choice.choice((3, 40, 1000, 1 << 16, 1 << 20))
        if len(data) > 4000 * most:
            most = 1 << 16
        at = 0
        while at < len(data):
            size = choice.randrange(1, most + 1)
            yield data[at : at + size]
            at += size

    # the units: one line, or several that belong together

    def unit(self, batch=False):
        kinds = self.batchable if batch else self.kinds
        kind = self.choice.choices(*kinds)[0]
        lines = kind(self)
        # without the FLUSH before it, a FORGET would do something else
        if (
            lines
            and kind not in (Lines.forget, Lines.suspend)
            and self.choice.random() < 0.12
        ):
            lines = self.damaged(lines)
        return lines

    def batch(self):
        lines = [Line(self.verb(b"BATCH") + b"\n")]
        for _ in range(self.choice.choice((0, 3, 30, 300))):
            lines += self.unit(batch=self.choice.random() < 0.9)
        # nothing that starts or ends a batch or the connection may be inside
        lines = lines[:1] + [
            line
            for line in lines[1:]
            if line.verb not in (b".", b"QUIT", b"FLUSHALL")
            and not (line.loose and len(line.words) == 1)
        ]
        return [*lines, Line(b".\n")]

    def verb(self, word):
        way = self.choice.random()
        if way < 0.6:
            return word
        if way < 0.8:
            return word.lower()
        return bytes(
            self.choice.choice((byte, byte ^ 32)) if chr(byte).isalpha() else byte
            for byte in word
        )

    def name(self):
        return self.choice.choice(list(self.files))

    def path(self, name):
        """Returns the path as clients write it: relative, or below the base."""
        return escaped(self.base + b"/" + name if self.choice.random() < 0.3 else name)

    def line(self, verb, *words):
        end = b"\r\n" if self.choice.random() < 0.1 else b"\n"
        return Line(b" ".join([self.verb(verb), *words]) + end)

    def create(self):
        self.created += 1
        host = b"h%d" % self.choice.randrange(40)
        last = self.choice.choice(
            (
                b"v%d.rrd",
                b"v%d.rrd",
                b"v%d.rrd",
                b"with blank %d.rrd",
                b"back\\slash%d.rrd",
                b"\xc3\xbc%d.rrd",
                b"\xff\xfe%d.rrd",
            )
        )
        name = host + b"/" + last % self.created
        columns = self.choice.choice((1, 1, 1, 2))
        step = self.choice.choice((60, 60, 300))
        self.files[name] = [START, columns]
        kinds = [
            self.choice.choice((b"GAUGE", b"DERIVE", b"COUNTER", b"ABSOLUTE"))
            for _ in range(columns)
        ]
        self.made[name] = kinds
        sources = [
            b"DS:d%d:%s:%d:U:U" % (i, kind, 2 * step) for i, kind in enumerate(kinds)
        ]
        return [
            self.line(
                b"CREATE",
                self.path(name),
                b"-b %d -s %d" % (START, step),
                b"-O",
                *sources,
                b"RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:3:8",
            )
        ]

    def value(self, name, step=None):
        time, columns = self.files[name]
        self.files[name][0] = time = time + (
            step or self.choice.choice((1, 7, 60, 61, 300, 1000))
        )
        said = (
            b"%d" % time
            if self.choice.random() < 0.9
            else b"%d.%d" % (time, self.choice.randrange(10))
        )
        return b":".join(
            [
                said,
                *(
                    self.choice.choice(
                        (b"U", b"%d" % self.choice.randrange(10**6), b"1e3", b"-4.5")
                    )
                    if self.choice.random() < 0.2
                    else b"%d" % self.choice.randrange(1000)
                    for _ in range(columns)
                ),
            ]
        )

    def update(self):
        name = self.name()
        values = [self.value(name) for _ in range(self.choice.choice((1, 1, 1, 2, 5)))]
        line = self.line(b"UPDATE", self.path(name), *values)
        if not all(writable(value, self.made[name]) for value in values):
            line.alone = "a value that cannot be written"
        return [line]

    def repeated(self):
        name = self.name()
        # an earlier refusal may let this value pass, with a column too few
        return self.update_made_safe(
            self.line(
                b"UPDATE",
                self.path(name),
                b"%d:1" % (self.files[name][0] - self.choice.randrange(100)),
            )
        )

    def odd_value(self):
        """An odd value. rrdcached accepts some of these and then drops the values
        behind them in its cache; the router refuses them.
        """
        name = self.name()
        time = self.files[name][0] + 1
        odd = self.choice.choice(
            (
                b"%d",
                b"%d:",
                b"%d:1:2:3:4",
                b"%d:x",
                b"%d:1:",
                b"%d@1",
                b"x%d:1",
                b"N:1%d",
                b"%d :1",
                b":%d",
                b"-%d:1",
                b"%d:\\ 1",
                b"+%d:1",
            )
        )
        return self.update_made_safe(self.line(b"UPDATE", self.path(name), odd % time))

    def unknown_file(self):
        name = self.choice.choice(
            (
                b"none/x.rrd",
                b"h1/none.rrd",
                b"n\\ one.rrd",
                b"x" * 300,
                b"%s%n%d",
                b"h1/x../y.rrd",
                b"\xff\xff",
                b"N:1",
                b"-b",
                b"RECURSIVE",
            )
        )
        verb = self.choice.choice(
            [
                word
                for word in WITH_PATH
                if word not in (b"CREATE", b"SUSPEND", b"RESUME")
            ]
        )
        return [
            self.line(
                verb,
                name,
                *self.choice.choice(
                    (
                        [],
                        [b"0"],
                        [b"%d:1" % START],
                        [b"AVERAGE", b"%d" % START, b"%d" % (START + 600)],
                    )
                ),
            )
        ]

    def outside(self):
        path = self.choice.choice(
            (
                b"../x.rrd",
                b"h1/../x.rrd",
                b"/etc/passwd",
                b"/",
                self.base + b"x/a.rrd",
                self.base + b"/../x.rrd",
                b"../../../../etc/passwd",
                b"/etc/../x",
            )
        )
        verb = self.choice.choice(
            [
                word
                for word in WITH_PATH
                if word not in (b"PENDING", b"SUSPEND", b"RESUME", b"CREATE")
            ]
        )
        return [
            self.line(
                verb,
                path,
                *(
                    [b"1:1"]
                    if verb == b"UPDATE"
                    else [b"AVERAGE", b"1", b"2"]
                    if b"FETCH" in verb
                    else []
                ),
            )
        ]

    def create_oddly(self):
        name = (
            self.name()
            if self.choice.random() < 0.3
            else b"h%d/odd.rrd" % self.choice.randrange(40)
        )
        odd = self.choice.choice(
            (
                b"",
                b"DS:x",
                b"RRA:AVERAGE:0.5:1:5",
                b"DS:x:GAUGE:60:U:U",
                b"DS:x:NONE:60:U:U RRA:AVERAGE:0.5:1:5",
                b"bogus",
                b"-b",
                b"-s",
                b"DS:x:GAUGE:60:U:U RRA:NONE:0.5:1:5",
                b"DS:x:GAUGE:60:U:U RRA:AVERAGE:7:1:5",
                b"DS:x:GAUGE:60:U:U RRA:AVERAGE:0.5:1:99999999999999",
                b"DS:" + b"n" * 30 + b":GAUGE:60:U:U RRA:AVERAGE:0.5:1:5",
                b"DS:x:COMPUTE:a,b,+ RRA:AVERAGE:0.5:1:5",
            )
        )
        time = self.choice.choice((b"%d" % START, b"5"))
        return [
            self.line(
                b"CREATE", self.path(name), b"-O", b"-b", time, *([odd] if odd else [])
            )
        ]

    def fetch(self):
        name = self.name()
        start = START + self.choice.randrange(-600, 20000)
        words = [
            self.choice.choice(
                (b"AVERAGE", b"AVERAGE", b"MAX", b"LAST", b"average", b"x")
            )
        ]
        words += [
            b"%d" % start,
            b"%d" % (start + self.choice.choice((-100, 0, 1, 60, 600, 5000))),
        ]
        way = self.choice.random()
        if way < 0.1:
            words[1] = self.choice.choice((b"x", b"99999999999999999999999", b""))
        elif way < 0.2:
            words.append(
                self.choice.choice((b"d0", b"d0 d0", b"d0 d1", b"d0 d0 d0"))
                if self.files[name][1] == 2
                else self.choice.choice((b"d0", b"d0 d0"))
            )
        return [
            self.line(
                self.choice.choice((b"FETCH", b"FETCHBIN")), self.path(name), *words
            )
        ]

    def fetch_recent(self):
        return [
            self.line(
                b"FETCH",
                self.path(self.name()),
                *self.choice.choice(([b"AVERAGE"], [b"AVERAGE", b"-600"], [])),
            )
        ]

    def read(self):
        verb = self.choice.choice((b"PENDING", b"INFO", b"LAST", b"FIRST", b"FLUSH"))
        words = (
            [self.choice.choice((b"0", b"1", b"7", b"-1", b"99999999999", b"x", b""))]
            if verb == b"FIRST"
            else []
        )
        return [self.line(verb, self.path(self.name()), *words)]

    def forget(self):
        """A FORGET while nothing waits. The router writes waiting values first, so that
        the copies do not differ; rrdcached drops them.
        """
        path = escaped(self.name())
        return [Line(b"FLUSH " + path + b"\n"), self.line(b"FORGET", path)]

    def suspend(self):
        """SUSPEND and RESUME at once. A separate test covers a FLUSH of a suspended
        file.
        """
        name = self.name()
        path = escaped(name)
        value = b"%d" % (self.files[name][0] + 1) + b":7" * self.files[name][1]
        self.files[name][0] += 1
        return [
            Line(b"FLUSH " + path + b"\n"),
            Line(b"UPDATE " + path + b" " + value + b"\n"),
            self.line(b"SUSPEND", path),
            self.line(b"SUSPEND", path),
            self.line(b"RESUME", path),
            self.line(b"RESUME", path),
            Line(b"FLUSH " + path + b"\n"),
        ]

    def all_of_them(self):
        return [self.line(b"SUSPENDALL"), self.line(b"RESUMEALL")]

    def listing(self):
        return [
            self.line(
                b"LIST",
                self.choice.choice(
                    (
                        b"/",
                        b"RECURSIVE /",
                        b"/h1",
                        b"/h1/",
                        b"/none",
                        b"h1",
                        b"RECURSIVE /h2",
                        b"/h1/v1.rrd",
                        b"/../",
                        b"/h1/../",
                        b"recursive /",
                    )
                ),
            )
        ]

    def small(self):
        return [
            Line(
                self.choice.choice(
                    (
                        b"PING\n",
                        b"ping x y\n",
                        b"\n",
                        b"\r\n",
                        b" \n",
                        b" PING\n",
                        b"PING \n",
                        b"WROTE h1/v1.rrd 1:1\n",
                        b".\n",
                        b". x\n",
                        b"PINGPING\n",
                        b"%s%n\n",
                        b"HELP\n",
                        b"help update\n",
                        b"QUEUE\n",
                        b"STATS\n",
                        b"P\\ING\n",
                        b"\\PING\n",
                        b"PING\\ \n",
                        b"-1 x\n",
                        b"UPDATE\n",
                        b"flush\n",
                        b"FETCH\n",
                        b"CREATE\n",
                        b"LIST\n",
                        b"forget\n",
                        b"info\n",
                        b"first\n",
                        b"pending\n",
                        b"fetchbin\n",
                        b"last\n",
                    )
                )
            )
        ]

    def garbage(self):
        size = self.choice.choice((1, 5, 20, 200, 900))
        text = bytes(
            self.choice.choice(
                (self.choice.randrange(256), self.choice.choice(b" \\\r\0./:%0159UPF"))
            )
            for _ in range(size)
        ).replace(b"\n", b"")
        return self.damaged([Line(text + b"\n")], 0)

    def long(self):
        """Lines that are too long for rrdcached. Most are useless to it; one, an UPDATE
        of many values, can be sent to it in pieces.
        """
        size = self.choice.choice((5000, 9000, 20_000, 60_000))
        path = b"x/" * (size // 2)
        kinds = (
            b"UPDATE " + path + b" 1:1",
            b"FLUSH " + path,
            b"PENDING " + path,
            b"y" * size,
            b"FETCH " + escaped(self.name()) + b" " + b"L" * size,
            b"UPDATE " + escaped(self.name()) + b" " + b"z" * size,
            b"LIST /" + path,
            b"CREATE h1/long.rrd -O " + b"DS:x:GAUGE:60:U:U " * (size // 18),
            b"CREATE h1/many.rrd -O " + b"DS: " * 300,
        )
        return [Line(self.choice.choice(kinds) + b"\n", alone="long")]

    kinds = (
        [
            update,
            repeated,
            odd_value,
            unknown_file,
            outside,
            create_oddly,
            fetch,
            fetch_recent,
            read,
            forget,
            suspend,
            all_of_them,
            listing,
            small,
            garbage,
            long,
        ],
        [40, 3, 4, 4, 3, 2, 8, 0.2, 14, 3, 1, 0.3, 2, 6, 4, 0.3],
    )
    batchable = (
        [
            update,
            repeated,
            odd_value,
            unknown_file,
            outside,
            create_oddly,
            forget,
            suspend,
            small,
            garbage,
            long,
        ],
        [60, 3, 4, 4, 3, 2, 3, 1, 3, 2, 0.2],
    )

    def damaged(self, lines, changes=None):
        """Changes, doubles or removes one byte or more of a line. A line that rrdcached
        must not get goes to the router alone; a line that neither may get is dropped.
        """
        at = 0  # the second line may be the FLUSH that the first one needs
        if lines[at].alone:
            return lines
        text = bytearray(lines[at].text)
        for _ in range(
            self.choice.choice((1, 1, 2, 5)) if changes is None else changes
        ):
            where = self.choice.randrange(len(text)) if text else 0
            way = self.choice.randrange(4)
            if way == 0 and text:
                text[where] = self.choice.choice(
                    (self.choice.randrange(256), *b" \\\r\0./:-09aN")
                )
            elif way == 1:
                text[where:where] = bytes(
                    [
                        self.choice.choice(
                            (self.choice.randrange(256), *b" \\\r\0./:-09aN")
                        )
                    ]
                )
            elif way == 2:
                del text[where : where + 1]
            else:
                text[where:where] = text[where : where + self.choice.randrange(20)]
        line = Line(bytes(text).replace(b"\n", b"") + b"\n")
        return [*lines[:at], *self.made_safe(line), *lines[at + 1 :]]

    def made_safe(self, line):
        """Removes lines that must not be sent at all. DIFFERENT in rrd_same.py lists
        those that may be answered differently.
        """
        verb, words = line.verb, line.words
        if b"\0" in line.text:
            return [Line(line.text, alone="NUL")]
        if verb in (
            b"BATCH",
            b".",
            b"QUIT",
            b"FLUSHALL",
            b"SUSPENDALL",
            b"RESUMEALL",
            b"SUSPEND",
            b"RESUME",
        ):
            return []  # it would change the meaning of the lines after it
        if line.loose and len(words) == 1:
            return []  # rrdcached closes the connection
        if verb == b"CREATE" and not re.fullmatch(
            rb"create \S*h\d+/((v|with\\ blank\\ |back\\\\slash|\xc3\xbc|\xff\xfe)\d+|odd)"
            rb"\.rrd (-O -b|-b) 17\d{8}( -s \d{2,3} -O|) [^\\\0-\x1f]*",
            line.text.strip().lower(),
            re.IGNORECASE,
        ):
            # it depends on the time of the day, or names another file or directory, or
            # overwrites a file
            return []
        if verb == b"CREATE" and any(
            word.startswith((b"-r", b"-t", b"-b", b"-s")) for word in words[6:]
        ):
            return []
        if verb in (b"FETCH", b"FETCHBIN") and not re.fullmatch(
            rb"fetch(bin)? \S+ \S+ 17\d{8} 17000\d{5}( d\d)*",
            line.text.strip().lower(),
            re.IGNORECASE,
        ):
            return []  # rrdcached takes memory for any requested range
        if verb == b"FORGET":
            return []
        if verb in WITH_PATH and len(words) > 1:
            path = words[1].removeprefix(self.base + b"/")
            parts = [part for part in path.split(b"/") if part not in (b"", b".")]
            if b"/".join(parts) in self.made and path not in self.made:
                return []  # the router takes it for that file; rrdcached does not
        if verb == b"LIST" and re.search(rb"[*?\[{]", line.text):
            return []  # rrdcached looks for names that match the pattern
        if verb == b"UPDATE":
            return self.update_made_safe(line)
        return [line]

    def are_later(self, name, values):
        """Returns whether each value has a later time than the one before it."""
        last = self.files[name][0]
        for value in values:
            time = re.match(rb"\+?(\d+)", value)
            if not time or int(time[1]) <= last:
                return False
            last = int(time[1])
        return True

    def update_made_safe(self, line):
        words = line.words
        # the values as they were written
        values = re.findall(
            rb"(?:\\.|[^ \\])+\\?",
            line.text.removesuffix(b"\n").removesuffix(b"\r"),
            re.DOTALL,
        )[2 - (b"" in words[:2]) :]
        name = words[1].removeprefix(self.base + b"/") if len(words) > 1 else b""
        # rrdcached stops at the first value without a time
        ends = [
            at
            for at, value in enumerate(values)
            if not re.fullmatch(
                rb"[+-]?" + NUMBER + rb":.*", value, re.IGNORECASE | re.DOTALL
            )
        ]
        judged = values[: ends[0]] if ends else values
        if not all(map(writable, values)) or not all(
            writable(value, self.made.get(name)) for value in judged
        ):
            if name in self.files and not self.are_later(name, values):
                return []  # the router looks at the times first, and may take other values
            return [Line(line.text, alone="a value that cannot be written")]
        if name not in self.made:
            return [line]
        if b"" in words[2:-1] or re.search(
            rb"\r *\r?\n$", line.text.removesuffix(b"\r\n") + b"\n"
        ):
            return []
        times = [re.match(rb"[+-]?(\d+)", word) for word in words[2:]]
        if any(time and len(time[1]) > 10 for time in times):
            return []  # far in the future: no later value could follow
        for time in times if name in self.files else ():
            self.files[name][0] = max(
                self.files[name][0],
                int(time[1]) if time and int(time[1]) < START + 10**7 else 0,
            )
        return [line]
