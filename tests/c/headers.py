"""Checks the headers: stead.h with every compiler and standard that it promises, its
example, and the declarations that PHP reads.
"""

import os
import re
import shutil

from checking import (
    GCC,
    HERE,
    INCLUDE,
    MAPS,
    ROOT,
    Done,
    declared,
    has,
    new_directory,
)

STANDARDS = [
    (GCC, "c99"),
    (GCC, "c17"),
    ("clang", "c99"),
    ("clang", "c17"),
    ("g++", "c++11"),
    ("g++", "c++20"),
    ("clang++", "c++11"),
    ("clang++", "c++20"),
]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.join(*path)


def check(part, scratch, libraries):
    """Checks everything about the headers."""
    matrix(part, scratch, libraries)
    version(part, scratch, libraries)
    unused(part, scratch)
    example(part, scratch, libraries)
    page(part, scratch, libraries)
    cdef(part, scratch, libraries)
    listed = re.findall(
        r"`(stead_\w+)`", read(ROOT, "docs", "c-api.md").split("Macros:")[0]
    )
    part.equal(
        "docs/c-api.md lists every function once, by task",
        sorted(listed),
        sorted(declared()),
    )


def matrix(part, scratch, libraries):
    """Compiles stead.h alone, twice, and with the address of every function (linked)."""
    addresses = "".join(f"    (function){name},\n" for name in declared())
    sources = {
        "alone": "#include <stead.h>\n",
        "twice": (
            "#include <stead.h>\n#include <stead.h>\nstatic stead_error error;\n"
            "int main(void) { return error.status; }\n"
        ),
        "whole": "#include <stead.h>\n\ntypedef void (*function)(void);\nfunction FUNCTIONS[] = {\n"
        + addresses
        + "};\n\nint main(void) {\n    return FUNCTIONS[0] == 0;\n}\n",
    }
    missing = sorted({compiler for compiler, _ in STANDARDS if not has(compiler)})
    for compiler in missing:
        part.without(f"{compiler} is missing, so stead.h is not compiled by it")
    for compiler, standard in STANDARDS:
        if compiler in missing:
            continue
        end = "cpp" if "++" in compiler else "c"
        for name, text in sources.items():
            source = write(text, scratch, f"{name}-{compiler}-{standard}.{end}")
            target = (
                ["-fsyntax-only"]
                if name != "whole"
                else ["-o", source + ".out", "-L", libraries, f"-Wl,-rpath,{libraries}"]
            )
            link = ["-lstead"] if name == "whole" else []
            done = Done(
                [
                    compiler,
                    f"-std={standard}",
                    *STRICT,
                    "-I",
                    INCLUDE,
                    *target,
                    source,
                    *link,
                ]
            )
            part.that(
                f"stead.h, {name}, compiles as {standard} with {compiler}",
                done.code == 0,
                done.text,
            )
    if GCC not in missing:
        part.equal(
            "every function of stead.h is in the library",
            Done(
                [os.path.join(scratch, f"whole-{os.path.basename(GCC)}-c99.c.out")]
            ).code,
            0,
        )
        # the control: the strict compiler does complain
        bad = write(
            "#include <stead.h>\nint main(void) { return stead_abi; }\n",
            scratch,
            "bad.c",
        )
        part.that(
            "a wrong use is seen",
            Done([GCC, "-std=c99", *STRICT, "-I", INCLUDE, "-fsyntax-only", bad]).code
            != 0,
        )


def version(part, scratch, libraries):
    """Checks the version that the header has for `#if`: that of Cargo.toml and of the
    library, and a number that compares.
    """
    wanted = re.search(r'^version = "(.*)"$', read(ROOT, "Cargo.toml"), re.MULTILINE)[1]
    major, minor, patch = map(int, wanted.split("."))
    number = 1000000 * major + 1000 * minor + patch
    source = write(
        "#include <stdio.h>\n#include <stead.h>\n"
        f"#if STEAD_VERSION_NUMBER != {number} || STEAD_VERSION_NUMBER >= {number + 1}\n"
        "#error the number\n#endif\n"
        f"#if STEAD_VERSION_MAJOR != {major} || STEAD_VERSION_MINOR != {minor} || "
        f"STEAD_VERSION_PATCH != {patch}\n#error the parts\n#endif\n"
        'int main(void) { return printf("%s %s\\n", STEAD_VERSION_STRING, stead_version()) < 0; }\n',
        scratch,
        "version.c",
    )
    program = os.path.join(scratch, "version")
    command = [GCC, "-std=c99", *STRICT, "-I", INCLUDE, "-o", program, source]
    done = Done([*command, "-L", libraries, f"-Wl,-rpath,{libraries}", "-lstead"])
    part.that("the version can be used in #if", done.code == 0, done.text)
    part.equal(
        "header and library say the version of Cargo.toml",
        Done([program]).text,
        f"{wanted} {wanted}\n",
    )


def unused(part, scratch):
    """Ignores the result of each function that returns a new object, or nothing but a
    status: each gives a warning, and nothing else does.
    """
    text = re.sub(r"//[^\n]*", "", read(INCLUDE, "stead.h"))
    marked = re.findall(
        r"^STEAD_USE_RESULT\n[\w\s*]*?\b(stead_\w+)\(", text, re.MULTILINE
    )
    # what must be marked, from the types alone
    functions = re.findall(r"^(\w[\w ]*\*?)(stead_\w+)\(([^;]*)\);", text, re.MULTILINE)
    makes = re.compile(r"stead_(map|pair|plan) \*\*|char \*\*\w+, stead_error")
    writes = {"stead_map_publish", "stead_map_save"}
    wanted = {
        name
        for result, name, arguments in functions
        if makes.search(re.sub(r"\s+", " ", arguments))
        or name in writes
        or result.startswith(("stead_map *", "stead_pair *"))
    }
    part.equal(
        "the functions whose result must be used are marked",
        sorted(marked),
        sorted(wanted),
    )
    calls = {}
    for _, name, arguments in functions:
        count = 0 if arguments.strip() == "void" else arguments.count(",") + 1
        calls[name] = f"{name}({', '.join(['0'] * count)});"
    lines = "".join(f"  {call}\n" for call in calls.values())
    source = (
        "#include <stead.h>\nvoid ignore(void);\nvoid ignore(void) {\n" + lines + "}\n"
    )
    for compiler, standard, end in (
        (GCC, "c99", "c"),
        ("clang", "c99", "c"),
        ("g++", "c++11", "cpp"),
        ("clang++", "c++11", "cpp"),
    ):
        if not has(compiler):
            continue  # `matrix` has said so
        path = write(source, scratch, f"unused-{compiler}.{end}")
        command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-I", INCLUDE]
        done = Done([*command, "-c", "-o", path + ".o", path])
        warned = {
            name
            for name in calls
            if re.search(rf"warning: ignoring return value of .*\b{name}\b", done.text)
        }
        # clang does not name the function, but shows its line
        warned |= set(
            re.findall(
                r"warning: ignoring return value of function declared with[^\n]*\n[^\n]*?(stead_\w+)\(",
                done.text,
            )
        )
        part.equal(
            f"{compiler} warns where a result is ignored",
            sorted(warned),
            sorted(marked),
        )
        done = Done([*command, "-Werror", "-DSTEAD_USE_RESULT=", "-fsyntax-only", path])
        part.that(f"{compiler} does not, when asked not to", done.code == 0, done.text)


def example(part, scratch, libraries):
    """Checks that the program of the first page compiles and does what it says."""
    found = re.search(
        r"^//     (#include <stdio\.h>.*?^//     \})$",
        read(INCLUDE, "stead.h"),
        re.MULTILINE | re.DOTALL,
    )
    text = re.sub(r"^// {0,5}", "", found[1], flags=re.MULTILINE) if found else ""
    source, program = (
        write(text + "\n", scratch, "where.c"),
        os.path.join(scratch, "where"),
    )
    done = Done(
        [
            GCC,
            "-std=c99",
            *STRICT,
            "-I",
            INCLUDE,
            "-o",
            program,
            source,
            "-L",
            libraries,
            f"-Wl,-rpath,{libraries}",
            "-lstead",
        ]
    )
    if not part.that(
        "the program of stead.h's first page compiles", done.code == 0, done.text
    ):
        return
    done = Done([program, os.path.join(MAPS, "three.map"), "frank"])
    part.equal("it answers", (done.code, done.text), (0, "frank lives on n0\n"))
    done = Done([program, os.path.join(scratch, "none.map"), "frank"])
    part.that(
        "it says what is wrong",
        done.code == 1
        and re.fullmatch(r"where: cannot \w+ .*none\.map: .*\n", done.text),
        done.text,
    )
    part.equal(
        "it says how it is used",
        (Done([program]).code, Done([program]).text),
        (2, "usage: where MAP KEY\n"),
    )


# A function for each block of code of docs/c-api.md. The words of the command line say which of
# them are called; after `again`, the map in use is printed, and any other word is a file that is
# put over members.map.
PAGE = """#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stead.h>

static const char *path = "members.map";
static stead_map *map;
static int32_t last = STEAD_OK;
static stead_error error;

static int again(void) {
%s
return 0; }
static int grow(void) {
%s
return 0; }
static int steps(void) {
%s
return 0; }
static int pairs(void) {
%s
return 0; }
static int many(void) {
%s
return printf("%%s %%s\\n", stead_map_node_name(map, nodes[0]), stead_map_node_name(map, nodes[1])) < 0; }

int main(int count, char **words) {
    int failed = 0;
    for (int i = 1; i < count && !failed; i++) {
        if (strcmp(words[i], "again") == 0) {
            failed = again();
            printf("%%s %%" PRIu64 "\\n", stead_map_name(map), stead_map_epoch(map));
        } else if (strcmp(words[i], "grow") == 0)
            failed = grow();
        else if (strcmp(words[i], "steps") == 0)
            failed = steps();
        else if (strcmp(words[i], "pairs") == 0)
            failed = pairs();
        else if (strcmp(words[i], "many") == 0)
            failed = many();
        else
            failed = rename(words[i], path);
        fflush(stdout);
    }
    stead_map_free(map);
    return failed;
}
"""


def page(part, scratch, libraries):
    """Runs every block of C of docs/c-api.md."""
    blocks = re.findall(
        r"^```c\n(.*?)^```", read(ROOT, "docs", "c-api.md"), re.MULTILINE | re.DOTALL
    )
    place = new_directory(scratch, "page")
    source = write(PAGE % tuple(blocks), place, "page.c")
    program = os.path.join(place, "page")
    linked = ["-L", libraries, f"-Wl,-rpath,{libraries}", "-lstead"]
    done = Done(
        [GCC, "-std=c99", *STRICT, "-I", INCLUDE, "-o", program, source, *linked]
    )
    if not part.that("the blocks of docs/c-api.md compile", done.code == 0, done.text):
        return

    def fleet(nodes, name="members", more=""):
        nodes = "".join(f'[[node]]\nname = "{node}"\n' for node in nodes)
        write(f'name = "{name}"\n{more}{nodes}', place, "fleet.toml")

    def says(sentence, words, wanted):
        done = Done([program, *words.split()], cwd=place)
        part.that(
            f"docs/c-api.md: {sentence}",
            done.code == 0 and re.fullmatch(wanted, done.text),
            f"exit {done.code}: {done.text}",
        )

    fleet("ab", "others")
    says("another cluster's map is made", "grow", "epoch 1\n")
    os.rename(os.path.join(place, "members.map"), os.path.join(place, "others"))
    shutil.rmtree(os.path.join(place, "members.map.history"))
    fleet("ab")
    says("a first map is made step by step", "steps again", "members 1\n")
    shutil.copy(os.path.join(place, "members.map"), os.path.join(place, "old"))
    fleet("abc")
    says(
        "what moves is told",
        "steps again",
        r"33\.333 % moves, in \d+ moves\nmembers 2\n",
    )
    says("several keys at once", "again many", r"members 2\n[abc] [abc]\n")
    says("a pair's writes", "pairs", "[abc]\n")
    shutil.copy(os.path.join(place, "members.map"), os.path.join(place, "new"))
    refused = "members.map: another cluster, or an older epoch; the map that is open stays in use\n"
    # what is wrong is said once
    says(
        "neither another cluster's map nor an old one comes into use",
        "again others again again new again old again",
        f"members 2\n{refused}(members 2\n){{3}}{refused}members 2\n",
    )
    fleet([f"n{i}" for i in range(9)], more="replicas = 9\n")
    shutil.rmtree(os.path.join(place, "members.map.history"))
    os.remove(os.path.join(place, "members.map"))
    says(
        "no place of a write is left out without a word",
        "grow pairs",
        "epoch 1\na key has 9 places, and there is room for 8\n",
    )


def cdef(part, scratch, libraries):
    """Checks the declarations that PHP reads: functions, numbers and layouts."""
    text = read(ROOT, "php", "src", "stead.cdef.h")
    part.that(
        "stead.cdef.h has no line for a preprocessor",
        not re.search(r"^\s*#", text, re.MULTILINE),
    )
    part.that("stead.cdef.h has no comment", "//" not in text and "/*" not in text)
    preload = read(ROOT, "php", "preload", "stead.h")
    part.equal(
        "preload/stead.h is stead.cdef.h after two defines",
        preload,
        '#define FFI_SCOPE "stead"\n#define FFI_LIB "libstead.so.1"\n' + text,
    )
    part.equal(
        "stead.cdef.h declares the functions of stead.h",
        re.findall(r"\b(stead_\w+)\s*\(", text),
        declared(),
    )
    header = re.sub(r"//[^\n]*", "", read(INCLUDE, "stead.h"))
    numbers = re.findall(r"^\s*(STEAD_\w+) = (\d+),$", header, re.MULTILINE)
    part.that("stead.h has numbers", len(numbers) > 25)
    part.equal(
        "stead.cdef.h has its numbers",
        re.findall(r"^\s*(STEAD_\w+) = (\d+),$", text, re.MULTILINE),
        numbers,
    )
    asserts = read(HERE, "layout.h") + "".join(
        f'_Static_assert({name} == {number}, "{name}");\n' for name, number in numbers
    )
    # two translation units of one program: one fills in what the other reads
    for name, declarations in (("cdef", text), ("header", "#include <stead.h>\n")):
        unit = "#include <stddef.h>\n#include <stdint.h>\n" + declarations + asserts
        unit += (
            f"size_t sizes_of_{name}(void);\n"
            f"size_t sizes_of_{name}(void) {{ return {SIZES}; }}\n"
        )
        write(unit, scratch, f"layout-{name}.c")
    main = write(
        "#include <stddef.h>\nsize_t sizes_of_cdef(void);\nsize_t sizes_of_header(void);\n"
        "int main(void) { return sizes_of_cdef() != sizes_of_header(); }\n",
        scratch,
        "layout-main.c",
    )
    units = [os.path.join(scratch, f"layout-{name}.c") for name in ("cdef", "header")]
    for compiler in (GCC, "clang"):
        if has(compiler):
            program = os.path.join(scratch, f"layout-{compiler}")
            done = Done(
                [
                    compiler,
                    "-std=c11",
                    *STRICT,
                    "-I",
                    INCLUDE,
                    "-o",
                    program,
                    main,
                    *units,
                ]
            )
            part.that(
                f"stead.cdef.h has stead.h's layouts and numbers ({compiler})",
                done.code == 0,
                done.text,
            )
            part.equal("both see records of one size", Done([program]).code, 0)
    wrong = write(
        read(scratch, "layout-cdef.c").replace(
            "char message[248];", "char message[240];"
        ),
        scratch,
        "layout-wrong.c",
    )
    part.that(
        "another layout is seen",
        Done([GCC, "-std=c11", "-fsyntax-only", wrong]).code != 0,
    )


SIZES = (
    "sizeof(stead_error) + 1000 * sizeof(stead_slice) + 1000000 * sizeof(stead_move)"
)
