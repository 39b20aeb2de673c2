"""Compares contact solvers on shipped scenes and on the validation scenes with contact.

    python3 bench/solvers.py --reefknot target/release/reefknot [--solvers robust,gauss-seidel,admm]

Prints one JSON object. Shipped scenes run at their quick size, with a test for intersections in
every step: seconds, iterations, all errors (mean and maximum), and counts of failures: steps above
the tolerance of the scene, halved steps, steps with fail-safe, intersections, exit code. Validation
scenes: measured value, expected value, tolerance.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

SCENES = ["drape", "grip", "cards", "stack", "belt", "pinch"]


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


def validation_cases():
    """(scene, settings, {probe: (expected, relative tolerance)}); "<" and ">" are bounds."""
    second, body = {"time.duration": "1 s"}, "parameters.body"
    mu, angle = "parameters.mu", "parameters.half_angle_deg"
    yield "incline", second, {"distance": (1.6029, 5e-3), "speed": (3.2058, 5e-3)}
    for kind in ["cube", "cloth", "rod"]:
        yield "incline", {**second, body: kind, mu: 0.5745}, {"speed": (">", 0.02)}
        longer = {"time.duration": "3 s", body: kind, mu: 0.5802}
        yield "incline", longer, {"creep": ("<", 2e-6)}
    for direction in [0, 33]:
        stop = {"distance": (0.67958, 5e-3), "time": (0.67958, 5e-3), "sideways": ("<", 1e-4)}
        yield "slide-to-stop", {"parameters.direction_deg": direction}, stop
    yield "puck", {}, {"x": (0.1984, 1e-2), "y": (0.44412, 1e-2), "final_speed": (0.5, 1e-2)}
    yield "ball-roll", {}, {"final_speed": (5 / 7, 2e-2)}
    for friction, turns, ratio in [(0.3, 0.25, 1.602), (0.5, 0.5, 4.810)]:
        yield "capstan", {mu: friction, "parameters.turns": turns}, {"tension_ratio": (ratio, 2e-2)}
    for half in [15, 30]:
        limit = 0.5 * math.tan(math.radians(half))
        yield "two-cards", {angle: half, mu: 0.97 * limit}, {"stands": (0, 0)}
        yield "two-cards", {angle: half, mu: 1.03 * limit}, {"stands": (1, 0)}
    for friction, lowest, slip in [(0.1, 0.06, 0.0469), (0.3, 0.29, 0.2716)]:
        lowered = {mu: friction, "parameters.lowest": lowest}
        yield "stick-slip", lowered, {"lowering_at_slip_over_L": (slip, 3e-2)}
    yield "block-topple", {}, {"topple_angle_deg": (26.565, 1e-2)}
    yield "ladder", {}, {"min_angle_deg": (48.99, 2e-2)}
    yield "hertz", {}, {"force": (11.24, 5e-2)}
    yield "bounce", {}, {"h1": (0.49, 2e-2)}
    yield "collide", {}, {"linear_drift": ("<", 1e-10)}
    kinds = ["force_over_weight", "cloth", "solid", "embedded", "rigid", "ball", "rod"]
    yield "resting-weight", second, {kind: (1.0, 1e-3) for kind in kinds}
    yield "grip", {"time.duration": "2 s", "parameters.h": "10 ms"}, {"slip": ("<", 1e-5)}


def holds(value, expected, tolerance):
    if expected == "<":
        return abs(value) < tolerance
    if expected == ">":
        return value > tolerance
    return abs(value - expected) <= tolerance * abs(expected)


def validation(program, folder, solver):
    for scene, sets, probes in validation_cases():
        code, summary = run(program, folder, f"validation/{scene}", solver, sets)
        for probe, (expected, tolerance) in probes.items():
            value = summary.get("probes", {}).get(probe)
            value = value[0] if isinstance(value, list) else value
            yield {
                "row": scene,
                "set": sets,
                "probe": probe,
                "found": value,
                "expected": expected,
                "within": tolerance,
                "holds": value is not None and holds(value, expected, tolerance),
                "contact_error_m": summary.get("contact_error_m"),
                "momentum_error_m": summary.get("momentum_error_m"),
                "above_tolerance": steps_above_tolerance(folder),
                "steps": summary.get("steps"),
                "wall_s": summary.get("wall_s"),
                "exit": code,
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reefknot", required=True, help="path of the program")
    parser.add_argument("--solvers", default="robust,gauss-seidel,admm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, result = pathlib.Path(temporary) / "run", {}
        for solver in options.solvers.split(","):
            found = list(validation(options.reefknot, folder, solver))
            result[solver] = {
                "scenes": list(shipped(options.reefknot, folder, solver)),
                "physics_held": sum(row["holds"] for row in found),
                "physics_values": len(found),
                "physics": found,
            }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
