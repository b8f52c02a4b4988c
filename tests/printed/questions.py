"""The table of README.md with one question in each language: each is made a whole program, which
must print the node of frank.
"""

import re
import shlex

HEADING, COLUMN = "The same answer in six languages", "question"

OWN = "LD_LIBRARY_PATH=$HOME/.local/lib"
C = """#include <stdio.h>
#include <stead.h>
int main(void) {
  stead_error error;
  stead_map *map;
  int32_t node;
  QUESTION
  return puts(stead_map_node_name(map, node)) < 0;
}
"""
PACKAGE = "PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig pkg-config --cflags --libs stead"


def in_shell(code):
    return f"$HOME/.local/bin/{code} | cut -f 2"


def in_c(code):
    source = shlex.quote(C.replace("QUESTION", code))
    compiled = f"printf %s {source} >asked.c && cc -DSTEAD_USE_RESULT= asked.c $({PACKAGE}) -o asked"
    return f"{compiled} && {OWN} ./asked"


def in_python(code):
    return f"venv/bin/python -c {shlex.quote(f'import stead; print({code})')}"


def in_php(code):
    text = f"require '/path/to/stead/php/autoload.php'; echo {code};"
    library = "STEAD_LIBRARY=$HOME/.local/lib/libstead.so.1"
    return f"{library} php -r {shlex.quote(text)}"


def in_perl(code):
    text = shlex.quote(f"print {code}")
    return f"PERL5LIB=$HOME/.local/lib/perl5 {OWN} perl -MStead -e {text}"


PROGRAMS = {
    "shell": in_shell,
    "C": in_c,
    "Python": in_python,
    "PHP": in_php,
    "Perl": in_perl,
}
# the tests compile the program of docs/quick-start.md, which has the same calls
AS_IN_QUICK_START = "Rust"


def commands(cells, quick_start):
    """Returns (commands, what is wrong): a command for each language of the table that prints the
    node. `cells` is {language: [code]}, and `quick_start` the text of that page.
    """
    found, wrong = [], []
    for link, code in cells.items():
        language = re.sub(r"\[(.*?)\].*", r"\1", link)
        if len(code) != 1:
            wrong.append(f"README.md, {language}: {len(code)} questions, and not one")
        elif language in PROGRAMS:
            found.append(PROGRAMS[language](code[0]))
        elif language == AS_IN_QUICK_START:
            calls = re.findall(r"(?:Map::open|locate)\([^()]*(?:\(\))?\)", code[0])
            if len(calls) != 2 or any(call not in quick_start for call in calls):
                wrong.append(
                    f"README.md, {language}: docs/quick-start.md has not {calls}"
                )
        else:
            wrong.append(f"README.md: nothing asks in {language}; add it to PROGRAMS")
    if len(found) != len(PROGRAMS):
        wrong.append(f"README.md: {len(found)} questions are asked of {len(PROGRAMS)}")
    return found, wrong
