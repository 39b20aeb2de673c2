#!/usr/bin/env python3
"""How the time and memory of `hairy-ball` grow with the number of rods.

    python3 bench/scale.py --reefknot target/release/reefknot [--rods 1000 4000 16000] [--frames 24] [--threads 2] > scale.json

Runs each size into a temporary folder and prints one JSON object: seconds per frame by phase, contacts, iterations and peak memory of each size, and
the exponents of growth (a straight line through the logarithms). The machine should have nothing else to do.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile


def run(program, rods, frames, threads):
    """The summary of one size."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", "hairy-ball", "--set", f"parameters.rods={rods}", "--frames", str(frames)]
        command += ["--threads", str(threads), "--out", f"{folder}/run", "--quiet", "--summary", "json"]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def figures(rods, summary):
    """What is compared between sizes."""
    frames = summary["frames"]
    return {
        "rods": rods,
        "wall_per_frame_s": summary["wall_s"] / frames,
        "cpu_per_frame_s": summary["cpu_s"] / frames,
        "slowest_step_s": summary["wall_per_step_s"]["max"],
        "phases_per_frame_s": {phase: time / frames for phase, time in summary["phases_s"].items()},
        "contacts": summary["contacts"],
        "iterations": summary["iterations"],
        "peak_bytes": summary["peak_rss_bytes"],
        "intersections": summary["intersections"],
        "contact_error_m": summary["contact_error_m"],
        "nonlinear_error_m": summary["nonlinear_error_m"],
        "failsafe_steps": summary["failsafe_steps"],
        "state_hash": summary["state_hash"],
    }


def exponent(sizes, values):
    """The slope of the straight line nearest to the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y))
    return over / sum((a - middle_x) ** 2 for a in x)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reefknot", required=True)
    arguments.add_argument("--rods", type=int, nargs="+", default=[1000, 4000, 16000])
    arguments.add_argument("--frames", type=int, default=24)
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    sizes = []
    for rods in given.rods:
        sizes.append(figures(rods, run(given.reefknot, rods, given.frames, given.threads)))
        print(json.dumps(sizes[-1]), file=sys.stderr)
    growth = {}
    if len(sizes) > 1:
        columns = {"wall": lambda of: of["wall_per_frame_s"], "contacts": lambda of: of["contacts"]["mean"], "memory": lambda of: of["peak_bytes"]}
        growth = {name: exponent(given.rods, [column(of) for of in sizes]) for name, column in columns.items()}
    print(json.dumps({"frames": given.frames, "threads": given.threads, "sizes": sizes, "exponents": growth}))


if __name__ == "__main__":
    main()
