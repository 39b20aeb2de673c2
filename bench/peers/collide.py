#!/usr/bin/env python3
"""Compares collision detection of reefknot and IPC Toolkit (`ipctk`) on the same geometry.

    python3 bench/peers/collide.py [--repeats 5] > collide.json

The first run makes a virtual environment in `target/peers` from `requirements.txt`. Then
`collide_bench cases` writes two folded cloths and steps of a drape below `target/peers/cases`, and
measures reefknot on them, on one thread and on two. The same files go through ipctk, each figure in
its own process, the best of `--repeats` runs.

Broad phase: `Candidates.build` with `LBVH`, its fastest method on these meshes, from positions to
lists of pairs. For reefknot, a new tree and its candidates. Both find the same pairs: features with
overlapping boxes.

Narrow phase: `compute_collision_free_stepsize` with each of its methods, on its own candidates. A
collision shortens the time interval of later queries; reefknot completes every query and returns
all impacts. Steps without impacts are the fair comparison. ipctk also reports features that come
closer than a fraction of their initial distance, so its step sizes are shorter.

`ratios` are the speed of reefknot over that of ipctk. Run it on an idle machine.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENT = ROOT / "target" / "peers"
CASES = ENVIRONMENT / "cases"
NARROW_PHASES = ["TightInclusionCCD", "AdditiveCCD"]


def enter_environment():
    """Restarts in the virtual environment; makes it again if the requirements have changed."""
    if pathlib.Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    python, wanted = ENVIRONMENT / "bin" / "python", HERE / "requirements.txt"
    # Written last, so that a broken installation is made again.
    installed = ENVIRONMENT / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "-r", wanted], check=True, stdout=sys.stderr
        )
        installed.write_text(wanted.read_text())
    os.execv(python, [str(python), *sys.argv])


def best_of(repeats, run):
    """Minimum time of several runs (s), and the last result."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(folder, threads, repeats):
    """All figures of ipctk for one case, in a process with its own number of threads."""
    import ipctk
    import numpy as np

    ipctk.set_num_threads(threads)
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    reach = json.loads((folder / "case.json").read_text())["reach"]
    # Column-major: ipctk uses such arrays without a copy.
    start, end = (
        np.asfortranarray(np.fromfile(folder / name, "<f8").reshape(-1, 3))
        for name in ("from.bin", "to.bin")
    )
    corners = np.fromfile(folder / "triangles.bin", "<u4").reshape(-1, 3)
    triangles = np.asfortranarray(corners, dtype=np.int32)
    mesh = ipctk.CollisionMesh(start, ipctk.edges(triangles), triangles)

    def search():
        candidates = ipctk.Candidates()
        candidates.build(mesh, start, end, reach, ipctk.LBVH())
        return candidates

    seconds, found = best_of(repeats, search)
    figures = {
        "point_triangle": len(found.fv_candidates),
        "edge_edge": len(found.ee_candidates),
        "broad_s": seconds,
    }
    queries = figures["point_triangle"] + figures["edge_edge"]
    for method in NARROW_PHASES:
        ccd = getattr(ipctk, method)()
        seconds, size = best_of(
            repeats, lambda: found.compute_collision_free_stepsize(mesh, start, end, 0.0, ccd)
        )
        figures[method] = {
            "seconds": seconds,
            "queries_per_second": queries / seconds,
            "step_size": size,
        }
    return figures


def compare(ours, theirs):
    """Speed of reefknot over that of ipctk, and its number of additional candidate pairs."""
    extra = sum(ours[kind] - theirs[kind] for kind in ("point_triangle", "edge_edge"))
    ratios = {"extra_candidates": extra, "broad": theirs["broad_s"] / (1e-3 * ours["broad"]["ms"])}
    for method in NARROW_PHASES:
        ratios[method] = ours["queries_per_second"] / theirs[method]["queries_per_second"]
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--case", nargs=2, metavar=("FOLDER", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        folder, threads = options.case
        json.dump(measure(pathlib.Path(folder), int(threads), options.repeats), sys.stdout)
        return
    command = [
        "cargo",
        "run",
        "--release",
        "--example",
        "collide_bench",
        "--",
        "cases",
        "--write",
        str(CASES),
    ]
    cases = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    for number, case in enumerate(cases):
        for threads in (1, 2):
            print(case["name"], threads, file=sys.stderr)
            again = [
                sys.executable,
                __file__,
                "--repeats",
                str(options.repeats),
                "--case",
                str(CASES / str(number)),
                str(threads),
            ]
            theirs = json.loads(subprocess.run(again, check=True, stdout=subprocess.PIPE).stdout)
            ours = case[f"threads_{threads}"]
            case[f"threads_{threads}"] = {
                "reefknot": ours,
                "ipctk": theirs,
                "ratios": compare(ours, theirs),
            }
    print(json.dumps(cases, indent=1))


if __name__ == "__main__":
    enter_environment()
    main()
