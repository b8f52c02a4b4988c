"""The Perl runner must notice a locale that has no effect, and a module that is wrong in
one place. The vectors must have unusual keys.
"""

import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import answers
import perl
from locales import locales, why_not
from report import vector_files

PERL = perl.MODULE["PERL"]
HAS_PERL = (
    shutil.which(PERL)
    and subprocess.run(
        [PERL, "-MConfig", "-e", 'exit !-e "$Config{archlibexp}/CORE/perl.h"'],
        check=False,
    ).returncode
    == 0
)
# a source file, the right text, the wrong text, and the vector file that must show it
WRONG = [
    # takes Perl's internal form of a string for its bytes
    (
        "given.h",
        "(SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)",
        "(SVf_POK | SVs_GMG | SVf_ROK)",
        "locate.json",
    ),
    # lets a NUL end a key
    (
        "given.h",
        "key->length = SvCUR(sv);",
        "key->length = strlen(SvPVX_const(sv));",
        "locate.json",
    ),
    ("Stead.xs", "RETVAL = point;", "RETVAL = (UV)(NV)point;", "points.json"),
    (
        "Stead.xs",
        "if (most > (UV)map->count)",
        "if (most > 3) most = 3;\n    if (most > (UV)map->count)",
        "prefer.json",
    ),
]


@unittest.skipUnless(HAS_PERL, "there is no perl with its headers (libperl-dev)")
class TestPerl(unittest.TestCase):
    @unittest.skipIf(why_not(), why_not())
    def test_a_locale_that_is_not_there_stops_the_runner(self):
        command = perl.command(perl.MODULE["build"]())

        def started(**environment):
            return subprocess.run(
                command,
                env=dict(os.environ, **environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )

        with tempfile.TemporaryDirectory() as scratch:
            for name, environment in locales(scratch).items():
                taken = started(ANSWER_LOCALE=name, **environment)
                self.assertEqual((taken.returncode, taken.stderr), (0, b""))
                missing = started(ANSWER_LOCALE=name, LOCPATH="/nowhere", LC_ALL=name)
                self.assertEqual(
                    (missing.returncode, b"does not take" in missing.stderr), (3, True)
                )

    def test_a_module_that_is_wrong_fails_vectors(self):
        files = vector_files()
        with tempfile.TemporaryDirectory() as scratch:
            for i, (source, right, wrong, file) in enumerate(
                [("given.h", "", "", None), *WRONG]
            ):
                tree = os.path.join(scratch, str(i))
                shutil.copytree(perl.MODULE["SOURCES"], os.path.join(tree, "changed"))
                path = os.path.join(tree, "changed", source)
                text = answers.read(path).decode()
                self.assertIn(right, text)
                answers.write(path, text.replace(right, wrong).encode())
                command = perl.command(
                    perl.MODULE["build"](os.path.join(tree, "changed"), tree)
                )
                asked = {
                    name: files[name] for name in ("locate.json", file or "points.json")
                }
                with (
                    mock.patch("builtins.print"),
                    contextlib.redirect_stdout(io.StringIO()),
                ):
                    counts = answers.passed("Perl", command, asked, tree)
                sizes = {name: len(vectors) for name, vectors in asked.items()}
                self.assertEqual(counts == sizes, file is None, wrong)

    def test_the_vectors_have_odd_keys(self):
        keys = [
            bytes.fromhex(v["key"]) for v in vector_files()["locate.json"] if "key" in v
        ]

        def text(key):
            with contextlib.suppress(UnicodeDecodeError):
                return key.decode()
            return ""

        self.assertTrue(any(b"\0" in key for key in keys), "a NUL")
        self.assertTrue(
            any(key and not text(key) and len(key) > 1 for key in keys), "no UTF-8"
        )
        self.assertTrue(
            any(any(0x80 <= ord(c) <= 0xFF for c in text(key)) for key in keys),
            "the UTF-8 of Latin-1's letters",
        )
        self.assertTrue(
            any(any(ord(c) > 0xFFFF for c in text(key)) for key in keys), "an emoji"
        )


if __name__ == "__main__":
    unittest.main()
