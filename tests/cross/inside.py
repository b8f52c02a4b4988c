"""Builds the program and libstead for another machine, in the chroot, and runs the
program once.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

import built

sys.exit(subprocess.call([built.program(), "--version"]))
