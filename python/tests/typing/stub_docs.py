"""Copies the docstrings of the module, which are written in Rust, to its stub, where
editors look for them.

    python stub_docs.py            checks that the stub has the docstrings of the installed module
    python stub_docs.py --write    writes them
"""

import ast
import inspect
import os
import sys

import stead._stead

STUB = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    *[os.pardir] * 2,
    "python",
    "stead",
    "_stead.pyi",
)


def literal(doc, indent):
    """Returns the lines of an indented docstring."""
    lines = (line and indent + line for line in doc.split("\n"))
    raw = "r" if "\\" in doc else ""
    return [
        indent
        + raw
        + '"""'
        + "\n".join(lines).lstrip()
        + ("\n" + indent if "\n" in doc else "")
        + '"""'
    ]


def documented(text):
    """Returns the stub with the module's docstrings, whether it had docstrings or
    not.
    """
    lines = text.split("\n")
    edits = []  # (first line, last line, the lines that replace them)

    def visit(nodes, owner):
        before = None
        for node in nodes:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not (
                isinstance(node, ast.ClassDef) and node.name.startswith("_")
            ):
                thing = getattr(owner, node.name)
                # only the first of several overloads gets one
                wanted = not node.name.startswith("__") and node.name != before
                doc = inspect.getdoc(thing) if wanted else None
                first, end = node.body[0], node.body[0].end_lineno
                has = (
                    isinstance(first, ast.Expr)
                    and isinstance(first.value, ast.Constant)
                    and isinstance(first.value.value, str)
                )
                indent = " " * (node.col_offset + 4)
                if isinstance(node, ast.ClassDef):
                    # before the first statement in the class, and its decorators
                    start = first.lineno - len(getattr(first, "decorator_list", ()))
                    edits.append((start, end if has else None, literal(doc, indent)))
                    visit(node.body, thing)
                elif doc:
                    head = (
                        lines[first.lineno - 1].removesuffix(" ...")
                        if not has
                        else None
                    )
                    edits.append(
                        (
                            first.lineno,
                            end,
                            ([] if has else [head]) + literal(doc, indent),
                        )
                    )
                before = node.name

    visit(ast.parse(text).body, stead._stead)
    # not reverse=True: of two edits at one line, the later one must be applied first
    edits.sort(key=lambda edit: edit[0])
    for start, end, new in reversed(edits):
        lines[start - 1 : start - 1 if end is None else end] = new
    return "\n".join(lines)


def main():
    with open(STUB, encoding="utf-8") as file:
        text = file.read()
    if "--write" in sys.argv:
        text = documented(text)  # before the file is emptied
        with open(STUB, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    if documented(text) != text:
        print(
            "python/python/stead/_stead.pyi lacks the docstrings of the module; "
            "python/tests/typing/stub_docs.py --write puts them there"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
