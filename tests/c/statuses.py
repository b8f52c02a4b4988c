"""Compares the statuses that the header lists for each function with those that the C
programs saw.
"""

import os
import re

from checking import INCLUDE

# Documented, and not seen by these programs: (function, status) and the reason.
EXCUSED = {
    ("stead_map_publish", "STEAD_UNCERTAIN"): "needs a directory whose sync fails; "
    "crates/stead-cli/tests/all/failing_calls.rs makes one",
    ("stead_map_save", "STEAD_UNCERTAIN"): "as for stead_map_publish",
    ("stead_map_apply", "STEAD_UNCERTAIN"): "as for stead_map_publish",
    ("stead_map_apply_file", "STEAD_UNCERTAIN"): "as for stead_map_publish",
    ("stead_map_rollback", "STEAD_UNCERTAIN"): "as for stead_map_publish",
    ("stead_map_apply_file", "STEAD_CONFLICT"): "as for stead_map_apply",
    ("stead_map_rollback", "STEAD_CONFLICT"): "as for stead_map_apply",
    ("stead_map_rollback", "STEAD_IMPOSSIBLE"): "needs 2^64 - 1 epochs",
    ("stead_map_open_uncached", "STEAD_CHANGED"): "needs a file that changes during "
    "each of three reads",
}
EXCUSED.update(
    {
        (name, f"STEAD_{status}"): "as for stead_map_open, which it calls"
        for name, statuses in (
            ("stead_pair_open", "DIGEST VERSION CHANGED PERMISSION IO MEMORY"),
            ("stead_pair_open_from", "DIGEST VERSION CHANGED PERMISSION IO MEMORY"),
        )
        for status in statuses.split()
    }
)
EXCUSED[("stead_pair_open_from", "STEAD_FORMAT")] = "as for stead_pair_open"
# Only a race shows it: check_applying_at_once usually does.
RACES = {("stead_map_apply", "STEAD_CONFLICT")}
# every function may return these two: the front page of the header says so
EVERYWHERE = {"STEAD_OK", "STEAD_INTERNAL"}


def documented():
    """Returns {function: statuses} from the sentence `Returns STEAD_OK` of each comment."""
    with open(os.path.join(INCLUDE, "stead.h"), encoding="utf-8") as file:
        text = file.read()
    numbers = text.split("} stead_status;")[0].rpartition("typedef enum {")[2]
    names = {
        int(n): name
        for name, n in re.findall(r"^  (STEAD_\w+) = (\d+),", numbers, re.MULTILINE)
    }
    found = {}
    for comment, name, arguments in re.findall(
        r"((?:^//.*\n)+)(?:STEAD_USE_RESULT\n)?^int32_t (stead_\w+)\(([^;]*)\);",
        text,
        re.MULTILINE,
    ):
        if "stead_error *error" in arguments:
            sentence = re.search(
                r"^// Returns STEAD_OK\b.*", comment, re.MULTILINE | re.DOTALL
            )
            words = re.findall(r"STEAD_[A-Z_]+\b", sentence[0] if sentence else "")
            found[name] = set(words) & set(names.values()) - EVERYWHERE
    return names, found


def check(part, output, without=frozenset()):
    """Compares with what was seen: the lines `saw FUNCTION NUMBER` of the output. The
    statuses of `without` could not be made here, and need not be seen.
    """
    names, listed = documented()
    seen = {
        (function, names.get(int(number), number))
        for function, number in re.findall(r"^saw (\w+) (\d+)$", output, re.MULTILINE)
        if names.get(int(number)) not in EVERYWHERE and function in listed
    }
    said = {(name, status) for name, all in listed.items() for status in all}
    unseen = {pair for pair in said if pair[1] in without}
    part.that("the header has functions with statuses", len(listed) > 25, listed)
    part.equal(
        "every function says what it returns",
        sorted(name for name, all in listed.items() if not all),
        [],
    )
    part.equal("every status that was seen is documented", sorted(seen - said), [])
    part.equal(
        "every documented status was seen, or has its reason",
        sorted(said - seen - set(EXCUSED) - RACES - unseen),
        [],
    )
    part.equal("no reason is stale", sorted(set(EXCUSED) - (said - seen)), [])
