#!/usr/bin/env python3
"""Scaling of time and memory of `hairy-ball` with the number of rods.

    python3 bench/scale.py --reefknot target/release/reefknot [--rods 1000 4000 16000]
        [--frames 24] [--threads 2] > scale.json

Runs each size in a temporary folder and prints one JSON object: seconds per frame by phase,
contacts, iterations and peak memory of each size, and the exponents of growth (least-squares line
through the logarithms). Run it on an idle machine.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile


def run(program, rods, frames, threads):
    """Summary of a run of one size."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", "hairy-ball", "--set", f"parameters.rods={rods}"]
        command += ["--frames", str(frames), "--threads", str(threads)]
        command += ["--out", f"{folder}/run", "--quiet", "--summary", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def figures(rods, summary):
    """Figures of one size."""
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
    """Slope of the least-squares line through the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--reefknot", required=True)
    parser.add_argument("--rods", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    sizes = []
    for rods in options.rods:
        summary = run(options.reefknot, rods, options.frames, options.threads)
        sizes.append(figures(rods, summary))
        print(json.dumps(sizes[-1]), file=sys.stderr)
    growth = {}
    if len(sizes) > 1:
        columns = {
            "wall": [size["wall_per_frame_s"] for size in sizes],
            "contacts": [size["contacts"]["mean"] for size in sizes],
            "memory": [size["peak_bytes"] for size in sizes],
        }
        growth = {name: exponent(options.rods, values) for name, values in columns.items()}
    result = {"frames": options.frames, "threads": options.threads, "sizes": sizes}
    print(json.dumps(result | {"exponents": growth}))


if __name__ == "__main__":
    main()
