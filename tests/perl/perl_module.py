"""The Perl module, built; importing this builds it."""

import runpy
from pathlib import Path

SCRIPT = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "scripts" / "perl-module")
)
PERL, ENV, SOURCES = SCRIPT["PERL"], SCRIPT["ENV"], Path(SCRIPT["SOURCES"])
DIST = SCRIPT["dist"]
MODULE = Path(SCRIPT["build"]())
LIBRARIES = MODULE.parent / "lib"
