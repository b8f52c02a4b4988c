"""debian/copyright of the source package: that of this tree, and a paragraph for each
licence of the crates in vendor/, in the format of Debian (DEP-5).
"""

import os
import re
import textwrap

import tree

# Where a crate offers several licences, the first of these is taken.
PREFERRED = ("MIT", "Apache-2.0")
# The text of a licence is that of a crate which has it; Debian has the others itself.
TEXTS = {
    "Apache-2.0 with LLVM exception": ("target-lexicon", "LICENSE"),
    "BSD-2-Clause": ("arrayref", "LICENSE"),
    "BSD-3-Clause": ("subtle", "LICENSE"),
    "BSL-1.0": ("xxhash-rust", "LICENSE"),
    "ISC": ("untrusted", "LICENSE.txt"),
    "Unicode-3.0": ("unicode-ident", "LICENSE-UNICODE"),
    "Zlib": ("foldhash", "LICENSE"),
}
COMMON = {"MPL-2.0": "MPL-2.0"}


def value(manifest, key):
    """Returns a key of [package]: a text, or a list of texts."""
    section = manifest[manifest.index("[package]") :].partition("\n[")[0]
    found = re.search(
        rf"^{key} = (\[.*?\]|\".*?\")$", section, re.MULTILINE | re.DOTALL
    )
    return re.findall(r'"(.*?)"', found[1]) if found else []


def licence(expression):
    """Returns the licences that are taken of an SPDX expression, in Debian's words."""
    taken = []
    for part in re.split(r" AND ", expression.replace("(", "").replace(")", "")):
        offered = [name.strip() for name in re.split(r" OR |/", part)]
        chosen = next((name for name in PREFERRED if name in offered), offered[0])
        # as DEP-5 writes it: Apache-2.0 with LLVM exception
        taken.append(
            chosen.replace(" WITH ", " with ").replace("-exception", " exception")
        )
    return " and ".join(sorted(taken))


def indented(text):
    """The lines of a paragraph's field."""
    lines = []
    for line in text.strip().splitlines():
        lines += textwrap.wrap(line.rstrip(), 98) if len(line) > 98 else [line.rstrip()]
    return "\n".join(f" {line}" if line else " ." for line in lines)


def crates(vendor):
    """Returns {licence: {name of a directory: its authors}}."""
    found = {}
    for name in sorted(os.listdir(vendor)):
        with open(os.path.join(vendor, name, "Cargo.toml"), encoding="utf-8") as file:
            manifest = file.read()
        authors = [re.sub(r"\s+", " ", a) for a in value(manifest, "authors")]
        expression = (value(manifest, "license") or ["MIT"])[0]
        found.setdefault(licence(expression), {})[name] = authors
    return found


def text_of(name, vendor):
    """Returns the text of a licence."""
    if name == "MIT":
        text = tree.read("LICENSE-MIT")
        return text[text.index("Permission is hereby") :]
    if name in COMMON:
        return f"The text is in /usr/share/common-licenses/{COMMON[name]}."
    if name not in TEXTS:
        tree.fail(
            f"packaging/dist/rights.py has no text of the licence {name}, which a crate in "
            "vendor/ has: add to TEXTS a crate and its file with the text"
        )
    crate, file = TEXTS[name]
    folder = next(f for f in sorted(os.listdir(vendor)) if f.startswith(f"{crate}-"))
    with open(os.path.join(vendor, folder, file), encoding="utf-8") as opened:
        text = opened.read()
    if name.startswith("Apache-2.0 with "):
        # Debian has the licence itself, and wants it not to be repeated
        text = text[text.index("--- LLVM Exceptions") :]
        text = f"The text of the Apache License is above; these are its exceptions.\n\n{text}"
    return text


def copyright_of(vendor):
    """Returns the text of debian/copyright."""
    head = tree.read("packaging", "debian", "copyright")
    by_licence = crates(vendor)
    paragraphs, names = [], {"MIT"}
    for taken in sorted(by_licence):
        listed = "\n".join(f" vendor/{name}/*" for name in by_licence[taken])
        authors = sorted({a for all_of in by_licence[taken].values() for a in all_of})
        owners = "".join(f" {author}\n" for author in authors if author)
        paragraphs.append(
            f"Files:\n{listed}\nCopyright:\n{owners} the authors of each crate\n"
            f"License: {taken}"
        )
        names |= set(taken.split(" and "))
    for name in sorted(names - {"Apache-2.0"}):
        paragraphs.append(f"License: {name}\n{indented(text_of(name, vendor))}")
    return head + "\n" + "\n\n".join(paragraphs) + "\n"
