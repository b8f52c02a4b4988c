"""`make bench-balance`: runs stead and OpenStack Swift's ring builder through the same
scenario and prints one table of the results.

    make bench-balance ARGS='--steps 20'      a short run; --help names the rest

The scenario, the output of each system and the table are kept in target/bench-balance.
docs/balance.md explains what is measured.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

import scenario
from markdown import table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "target", "bench-balance")
STEAD = os.path.join(ROOT, "target", "release", "stead")
SWIFT_PYTHON = os.path.join(ROOT, ".venv-swift", "bin", "python")
HEADER = (
    "system",
    "worst share error",
    "violations, % of points (worst step)",
    "moved / bound",
    "moved, % of all copies",
    "slices or entries",
    "seconds a step: median",
    "worst",
)


def say(text):
    print(f"\n== {text}", flush=True)


def stead_rows(path):
    """Runs `stead simulate`; returns its rows, stead's own before those of the built-in
    peers, and the lower bound that it uses.
    """
    out = os.path.join(HERE, "stead.json")
    with open(out, "wb") as file:
        done = subprocess.run(
            [STEAD, "simulate", path, "--json"], stdout=file, check=False
        )
    if done.returncode:
        raise RuntimeError(f"stead simulate ended with {done.returncode}")
    with open(out, encoding="utf-8") as file:
        found = json.load(file)
    rows = []
    for system in found["systems"]:
        name, total = (
            f"{system['system']}, {system['size']}".rstrip(", "),
            system["total"],
        )
        error = (
            "0" if total["share_error_points"] == "0" else f"{total['share_error']:.2%}"
        )
        rows.append(
            (
                name,
                error,
                share(total["violating"]["fraction"]),
                ratio(total["moved_over_bound"]),
                f"{total['moved']['fraction']:.2%}",
                f"{total['slices_first']:,} -> {total['slices_last']:,}",
                f"{total['median_seconds']:.4f}",
                f"{total['worst_seconds']:.4f}",
            )
        )
    return rows, found["lower_bound"]["fraction"]


def swift_start(path, overload, options):
    """Starts Swift on the scenario; returns the process and the file that it writes,
    with a line for each step.
    """
    out = os.path.join(HERE, f"swift-overload-{overload:g}.jsonl")
    command = [
        SWIFT_PYTHON,
        os.path.join(ROOT, "benches", "balance", "swift_ring.py"),
        path,
        "--overload",
        str(overload),
        *options,
    ]
    with open(out, "wb") as file:
        # Swift's tables do not depend on the order in which Python walks a set; a fixed
        # order leaves no doubt
        return subprocess.Popen(
            command, stdout=file, env=dict(os.environ, PYTHONHASHSEED="0")
        ), out


def summary_of(out):
    """The summary: the last line that swift_ring.py wrote."""
    with open(out, encoding="ascii") as file:
        return json.loads(file.readlines()[-1])["summary"]


def swift_row(overload, found):
    """Swift's row of the table."""
    first, last = found["entries"]
    return (
        f"Swift, overload {overload:g}",
        f"{found['worst_error']:.2%}",
        share(found["violations_worst"] * scenario.REPLICAS / first),
        ratio(found["moved_per_bound"]),
        f"{found['moved']:.2%}",
        f"{first:,} -> {last:,}",
        f"{found['seconds_median']:.2f}",
        f"{found['seconds_worst']:.2f}",
    )


def swift_notes(overload, found):
    """The figures for which the table has no column."""
    return (
        f"Swift, overload {overload:g}: moved / bound "
        f"{ratio(found['moved_per_bound_by_weight'])} where the shares are the bare "
        "weights', "
        f"{ratio(found['moved_per_bound_achieved'])} against what its own table's "
        "shares changed; worst share error against the bare "
        f"weights {found['worst_error_by_weight']:.2%}; its first table: "
        f"{found['first_error']:.2%} and {found['violations_first']:,} violations, in "
        f"{found['seconds_first']:.1f} s; all steps' violations "
        f"{found['violations_total']:,}; {found['cpu_seconds_median']:.2f} s of "
        "processor time a step"
    )


def share(fraction):
    """A fraction as a percentage; "0" without decimals means exactly 0."""
    return f"{fraction:.2%}" if fraction else "0"


def ratio(number):
    return "-" if number is None else f"{number:.3f}"


def main():
    parser = argparse.ArgumentParser(
        description="stead and Swift's ring builder through one scenario."
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=scenario.STEPS,
        help=f"number of changes (default {scenario.STEPS})",
    )
    parser.add_argument(
        "--overload",
        type=float,
        nargs="+",
        default=[0.0, 0.1],
        help="Swift's overloads, with a row for each (default 0 and 0.1)",
    )
    parser.add_argument(
        "--part-power",
        type=int,
        default=14,
        help="the number of Swift's partitions is 2 to this power (default 14)",
    )
    parser.add_argument(
        "--rebalances",
        type=int,
        default=1,
        help="number of Swift's rebalances in a step (default 1)",
    )
    parser.add_argument(
        "--one-by-one",
        action="store_true",
        help="run one Swift after the other, not one on each processor",
    )
    parser.add_argument("--only", choices=("stead", "swift"))
    wanted = parser.parse_args()
    os.makedirs(HERE, exist_ok=True)
    path = os.path.join(HERE, "scenario.json")
    name = scenario.write(path, wanted.steps)["name"]
    say(
        f"{name}, {scenario.REPLICAS} copies kept apart by {' and '.join(scenario.SPREAD)}"
    )
    start, rows, notes, failed, bound = time.monotonic(), [], [], [], None

    if wanted.only != "swift":
        say("stead")
        try:
            rows, bound = stead_rows(path)
        except (RuntimeError, OSError) as error:
            failed.append(str(error))
            print(f"   {error}: the table has no row for it", flush=True)

    if wanted.only != "stead":
        say(f"OpenStack Swift's ring builder, 2^{wanted.part_power} partitions")
        options = [
            "--part-power",
            str(wanted.part_power),
            "--rebalances",
            str(wanted.rebalances),
        ]
        at_once = 1 if wanted.one_by_one else os.cpu_count() or 1
        waiting, running = list(wanted.overload), []
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    overload = waiting.pop(0)
                    running.append((overload, *swift_start(path, overload, options)))
                overload, process, out = running[0]
                process.wait()
                running.pop(0)
                if process.returncode:
                    failed.append(
                        f"Swift, overload {overload:g}, ended with {process.returncode}"
                    )
                else:
                    found = summary_of(out)
                    rows.append(swift_row(overload, found))
                    notes.append(swift_notes(overload, found))
                    # two programs, both written from docs/placement.md, computed the
                    # bound
                    if bound is not None and abs(bound - found["bound"]) > 1e-9:
                        failed.append(
                            f"the lower bound is {bound} in stead simulate and "
                            f"{found['bound']} in measure.py"
                        )
        finally:
            for _, process, _ in running:
                process.terminate()

    text = (
        table(HEADER, rows)
        + "\n\n"
        + "\n".join(notes)
        + f"\nPython {platform.python_version()}, {os.cpu_count()} processors\n"
    )
    say(
        f"what came out ({time.monotonic() - start:.0f} s); beside it in "
        "target/bench-balance: table.txt and every step's figures"
    )
    print(text, end="", flush=True)
    with open(os.path.join(HERE, "table.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    if failed:
        sys.exit("bench-balance: " + "; ".join(failed))


main()
