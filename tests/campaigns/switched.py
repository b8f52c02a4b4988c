"""Sources with many mutants in them at once, of which a program has at most one switched on.

To build a crate anew for every mutant takes far longer than to run the tests that reach it. So
each place that can be changed gets all its changes, and asks at run time which of them is on:

    a + b       becomes     (match crate::switched::on(7) { 7 => (a - b), 8 => (a * b), _ => (a + b) })

`on` tells which places a test has reached, too, if it is asked for that. What cannot be asked at
run time, as in a constant, stays out: it is built alone.
"""

import bisect

# appended to the crate; COUNT is put in
MODULE = """
pub(crate) mod switched {
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::OnceLock;

    static CHOSEN: OnceLock<(u32, Option<File>)> = OnceLock::new();
    static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

    fn chosen() -> (u32, Option<File>) {
        let number = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
        let file = std::env::var("MUTANTS_REACHED").ok();
        let open = |path| File::options().create(true).append(true).open(path).ok();
        (number.unwrap_or(0), file.and_then(open))
    }

    /// The number of the mutant that is on. `place` is the first one of the place that asks.
    pub(crate) fn on(place: u32) -> u32 {
        let (number, file) = CHOSEN.get_or_init(chosen);
        if let Some(mut file) = file.as_ref() {
            if !REACHED[place as usize].swap(true, Ordering::Relaxed) {
                let _ = file.write_all(format!("{place}\\n").as_bytes());
            }
        }
        *number
    }
}
"""

OUTER, INNER = 0, 1  # which of two places with the same bounds contains the other
# what is compiled only as a constant, or not at all
CONSTANT = {
    "const_item",
    "static_item",
    "const_block",
    "array_type",
    "enum_variant",
    "macro_invocation",
    "macro_definition",
    "attribute_item",
}


class Source:
    """A file, and the places in it where mutants can be switched."""

    def __init__(self, path, data):
        # only this campaign needs them
        import tree_sitter
        import tree_sitter_rust

        language = tree_sitter.Language(tree_sitter_rust.language())
        self.path, self.data = path, data
        self.tree = tree_sitter.Parser(language).parse(data)
        self.lines = [0]
        for line in data.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def offset(self, at):
        """The byte of a line and column, which begin with 1; a column is a character."""
        start = self.lines[at["line"] - 1]
        end = self.lines[at["line"]]
        return start + len(self.data[start:end].decode()[: at["column"] - 1].encode())

    def bounds(self, mutant):
        """The bytes that a mutant replaces."""
        if "bytes" in mutant:
            return mutant["bytes"]
        return tuple(self.offset(mutant["span"][name]) for name in ("start", "end"))

    def node(self, start, end):
        """The smallest node that contains these bytes."""
        return self.tree.root_node.descendant_for_byte_range(start, end)

    def text(self, node):
        """The text of a node."""
        return self.data[node.start_byte : node.end_byte]

    def place(self, mutant):
        """Where and how a mutant is switched: (start, end, order, kind, text if it is on). None
        if it cannot be.
        """
        start, end = self.bounds(mutant)
        new = mutant["replacement"].encode()
        node = self.node(start, end)
        if is_constant(node, self):
            return None
        genre = mutant["genre"]
        if genre == "FnValue":
            return start, start, OUTER, "return", new
        if genre == "BinaryOperator":
            whole = node.parent
            if node.type.isidentifier() or whole.type not in (
                "binary_expression",
                "compound_assignment_expr",
            ):
                return None
            left = self.data[whole.start_byte : start]
            right = self.data[end : whole.end_byte]
            text = b"(" + left + new + right + b")"
            return whole.start_byte, whole.end_byte, INNER, "choice", text
        if genre == "UnaryOperator":
            whole = node.parent
            if whole.type != "unary_expression" or whole.start_byte != start:
                return None
            text = b"(" + self.data[end : whole.end_byte] + b")"
            return whole.start_byte, whole.end_byte, INNER, "choice", text
        if genre in ("MatchArmGuard", "Control"):
            return start, end, OUTER, "choice", b"(" + new + b")"
        if genre == "MatchArm":
            while node and node.type != "match_arm":
                node = node.parent
            pattern = node and node.child_by_field_name("pattern")
            if not pattern:
                return None
            guard = pattern.child_by_field_name("condition")
            if guard:
                return guard.start_byte, guard.end_byte, OUTER - 1, "and", b""
            return pattern.end_byte, pattern.end_byte, OUTER, "if", b""
        return None


def is_constant(node, source):
    """Whether a node is part of what is computed when it is compiled."""
    while node:
        if node.type in CONSTANT:
            return True
        if node.type == "function_item":
            modifiers = [
                one for one in node.children if one.type == "function_modifiers"
            ]
            if any(b"const" in source.text(one).split() for one in modifiers):
                return True
        node = node.parent
    return False


class Switched:
    """A file with its mutants in it. `numbers` maps each mutant of this file, by its index, to the
    number that switches it on; `places` maps that number to the one of its place, which is the
    smallest of it.
    """

    def __init__(self, source, mutants, first, without=()):
        """Gives the mutants numbers from `first` on, but for those `without`, which do not compile."""
        places = {}
        for index, mutant in enumerate(mutants):
            found = None if index in without else source.place(mutant)
            if found:
                places.setdefault(found[:4], []).append((index, found[4]))
        self.source = source
        self.numbers, self.places = {}, {}
        self.out = bytearray()
        # where the text of a mutant is: starts, and (start, end, index)
        self.texts = []
        # an outer one is before those in it
        order = sorted(
            places, key=lambda key: (key[0], key[0] != key[1], -key[1], key[2])
        )
        todo = []
        for key in order:
            numbers = range(first, first + len(places[key]))
            for number, (index, _) in zip(numbers, places[key]):
                self.numbers[index] = number
                self.places[number] = first
            first += len(numbers)
            todo.append((key, list(zip(numbers, places[key]))))
        self.next = first
        self.todo, self.at = todo, 0
        self.write(0, len(source.data))
        self.texts.sort()

    def write(self, start, end):
        """Writes the source from start to end, with the places in it that are next."""
        while self.at < len(self.todo):
            key, arms = self.todo[self.at]
            if key[0] > end or key[1] > end:
                break
            self.at += 1
            self.out += self.source.data[start : key[0]]
            self.switch(key, arms)
            start = key[1]
        self.out += self.source.data[start:end]

    def noted(self, index, text):
        """Writes the text of a mutant."""
        begin = len(self.out)
        self.out += text
        self.texts.append((begin, len(self.out), index))

    def switch(self, key, arms):
        """Writes a place."""
        start, end, _, kind = key
        first = arms[0][0]
        asked = f"crate::switched::on({first})"
        if kind == "if":
            self.noted(arms[0][1][0], f" if {asked} != {first} ".encode())
            return
        if kind == "and":
            self.noted(arms[0][1][0], f"({asked} != {first} && (".encode())
            self.write(start, end)
            self.out += b"))"
            return
        self.out += (
            f"match {asked} {{ " if kind == "return" else f"(match {asked} {{ "
        ).encode()
        for number, (index, text) in arms:
            self.out += f"{number} => ".encode()
            self.noted(index, b"return " + text if kind == "return" else text)
            self.out += b", "
        if kind == "return":
            self.out += b"_ => {} } "
        else:
            self.out += b"_ => ("
            self.write(start, end)
            self.out += b") })"

    def blamed(self, start, end):
        """The mutants whose text is at these bytes of what was written."""
        at = bisect.bisect_left(self.texts, (end,))
        return {index for begin, stop, index in self.texts[:at] if stop >= start}

    def near(self, start, end):
        """The mutants of the function that is at these bytes of what was written: any of them
        may be why it does not compile.
        """
        # as a source of its own, the text has functions again
        node = Source(self.source.path, bytes(self.out)).node(start, end)
        while node.parent and node.type != "function_item":
            node = node.parent
        return self.blamed(node.start_byte, node.end_byte)
