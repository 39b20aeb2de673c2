"""Compares contact solvers on shipped scenes and on the validation scenes with contact.

    python3 bench/solvers.py --reefknot target/release/reefknot [--solvers robust,gauss-seidel,admm]

Prints one JSON object. Shipped scenes run at their quick size, with a test for intersections in
every step: seconds, iterations, all errors (mean and maximum), and counts of failures: steps above
the tolerance of the scene, halved steps, steps with fail-safe, intersections, exit code. Validation
scenes: the rows of `reefknot check --physics`.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

SCENES = ["drape", "grip", "cards", "stack", "belt", "pinch"]
CONTACT_SCENES = ["incline", "slide-to-stop", "puck", "ball-roll", "capstan", "two-cards"]
CONTACT_SCENES += ["stick-slip", "block-topple", "ladder", "hertz", "bounce", "collide"]
CONTACT_SCENES += ["resting-weight", "grip", "spinning-disc", "eccentric-load"]


def run(program, folder, scene, solver, sets, more=()):
    command = [program, "run", scene, "--quick", "--solver", solver, "--out", str(folder)]
    command += ["--overwrite", "--quiet", "--summary", "json", *more]
    for key, value in sets.items():
        command += ["--set", f"{key}={json.dumps(value) if isinstance(value, str) else value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else {"failed": done.stderr}


def steps_above_tolerance(folder):
    tolerance = json.loads((folder / "manifest.json").read_text())["tolerance_m"]
    steps = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
    keys = ["contact_error_m", "momentum_error_m", "nonlinear_error_m"]
    return sum(any((step[key] or 0.0) > tolerance for key in keys) for step in steps)


def shipped(program, folder, solver):
    keys = ["wall_s", "steps", "iterations", "contacts", "contact_error_m", "momentum_error_m"]
    keys += ["nonlinear_error_m", "halved_steps", "failsafe_steps", "intersections"]
    for scene in SCENES:
        code, summary = run(program, folder, scene, solver, {}, ["--certify"])
        row = {key: summary.get(key) for key in keys}
        above = steps_above_tolerance(folder)
        yield {"scene": scene, **row, "above_tolerance": above, "exit": code}


def validation(program, folder, solver):
    command = [program, "check", "--physics", "--quick", "--solver", solver, "--quiet"]
    command += ["--summary", "json", "--out", str(folder.parent / "physics.html")]
    command += ["--only", ",".join(CONTACT_SCENES)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else {"error": done.stderr, "rows": [], "held": 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reefknot", required=True, help="path of the program")
    parser.add_argument("--solvers", default="robust,gauss-seidel,admm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, result = pathlib.Path(temporary) / "run", {}
        for solver in options.solvers.split(","):
            physics = validation(options.reefknot, folder, solver)
            result[solver] = {
                "scenes": list(shipped(options.reefknot, folder, solver)),
                "physics_held": physics["held"],
                "physics_values": len(physics["rows"]),
                "physics": physics,
            }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
