"""Stress test: random scenes that throw, spin, press and drop, and what a run can be trusted for.

    python3 bench/trust.py --reefknot target/release/reefknot [--scenes 1000] [--seed 1] [--keep bad]

Runs every scene, then `reefknot check` on its folder. Prints a table, and one JSON object as the
last line. The energy is audited here, from the energies and the work in `run.jsonl`: energy minus
work may not grow in a step; with restitution, not beyond its largest value of the three steps
before. A silent failure is a run with exit code 0 that fails its check, gains more than 1% of its
energy, or has an error above 1/1000 of the diagonal of its objects. The scenes of bad runs stay in
the folder `--keep`. Scenes depend on the seed and their number only.
"""

import argparse
import array
import concurrent.futures
import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

GAIN = 1e-4  # relative gain from which a step counts
LOUD_GAIN = 0.01  # relative gain that a run must not hide
LOUD_ERROR = 1e-3  # error over diagonal that a run must not hide
GRACE = 30.0  # seconds after the time limit until a process is killed
ERRORS = ["contact_error_m", "momentum_error_m", "nonlinear_error_m"]


class Scene:
    """A random scene as text."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed}/{number}")
        self.lines, self.objects, self.colliders = [], 0, 0
        kinds = ["throw", "throw", "spin", "press", "drop", "bounce", "pinned"]
        self.kind = self.random.choice(kinds)
        self.h = self.log(1e-3, 1e-2)
        self.steps = self.random.randint(15, 40)
        self.restitution = self.random.random() if self.kind == "bounce" or self.one_in(5) else 0.0
        self.head()
        getattr(self, self.kind)()

    def log(self, low, high):
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def one_in(self, count):
        return self.random.randrange(count) == 0

    def direction(self, length=1.0):
        vector = [self.random.gauss(0, 1) for _ in range(3)]
        size = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [length * x / size for x in vector]

    def put(self, *lines):
        self.lines += lines

    def text(self):
        return "\n".join(self.lines) + "\n"

    def head(self):
        has_gravity = self.kind == "drop" or self.one_in(2)
        # Half a step less: the number of steps is rounded up.
        duration = (self.steps - 0.5) * self.h
        self.put(f'title = "{self.kind}"', f"gravity = [0, 0, {-9.81 if has_gravity else 0}]")
        self.put(self.time(duration, self.h))
        self.is_linear = self.one_in(5)
        if self.is_linear:
            self.put('method = { integrator = "linear-euler" }')
        friction = self.random.choice([0.0, self.random.uniform(0, 1.5)])
        self.put(f"[contact]\nfriction = {friction}\nrestitution = {self.restitution}")

    @staticmethod
    def time(duration, h):
        return f"time = {{ duration = {duration}, frame_rate = {1 / h}, substeps = 1 }}"

    def material(self, name, solid):
        young = self.log(1e3, 1e9) if solid else self.log(1e4, 1e8)
        damping = self.random.choice([0, 0, 1e-3, 5e-3])
        self.put(f"[material.{name}]", f"young = {young}", f"density = {self.log(100, 5000)}")
        self.put(f"poisson = {self.random.choice([0.2, 0.3, 0.45])}", f"damping = {damping}")
        if solid:
            laws = ["corotated", "fixed-corotated", "neo-hookean", "stable-neo-hookean"]
            self.put(f'solid_model = "{self.random.choice(laws)}"')
        else:
            laws = ["stvk", "neo-hookean", "corotated"]
            self.put(f"thickness = {self.log(2e-4, 3e-3)}")
            self.put(f'membrane_model = "{self.random.choice(laws)}"')

    def shape(self, kind):
        """Keys of an object of about 10 cm."""
        choose, edge = self.random.choice, self.random.uniform
        size = edge(0.04, 0.12)
        if kind == "cloth":
            mesh = choose(["right", "alternating", "unstructured"])
            counts = [self.random.randint(5, 11), self.random.randint(5, 11)]
            keys = f"size = [{2 * size}, {2 * size}]\nvertices = {counts}"
            return [f'kind = "cloth-grid"\n{keys}\ntriangles = "{mesh}"']
        if kind == "ball":
            return [f'kind = "solid-ball"\nradius = {size / 2}\nedge = {size / 3}']
        if kind == "box":
            return [f'kind = "solid-box"\nsize = [{size}, {size}, {size / 2}]\ncells = [2, 2, 1]']
        if kind == "embedded":
            surface = f'{{ kind = "sphere", radius = {size / 2}, edge = {size / 3} }}'
            return [f'kind = "embedded"\ncells = 3\nsurface = {surface}']
        if kind == "rod":
            count = self.random.randint(6, 20)
            keys = f"length = {2 * size}\nvertices = {count}"
            return [f'kind = "rod"\n{keys}\nradius = {self.log(1e-3, 6e-3)}']
        if kind == "ring":
            keys = f"ring_radius = {size}\nvertices = 16"
            return [f'kind = "rod-ring"\n{keys}\nradius = {self.log(1e-3, 6e-3)}']
        shape = choose(
            [
                f'kind = "box", size = [{size}, {size / 2}, {size / 3}]',
                f'kind = "sphere", radius = {size / 3}',
                f'kind = "cylinder", radius = {size / 3}, length = {size}',
                f'kind = "capsule", radius = {size / 4}, length = {size}',
            ]
        )
        return [f'kind = "rigid"\nmass = {self.log(1e-3, 1)}\nshape = {{ {shape} }}']

    KINDS = ["cloth", "cloth", "ball", "box", "embedded", "rod", "ring", "prop", "prop"]

    def add(self, position, velocity=(0, 0, 0), kind=None, spins=False, turned=True):
        """Adds an object."""
        kind = kind or self.random.choice(self.KINDS)
        name, keys = f"o{self.objects}", self.shape(kind)
        self.objects += 1
        if kind != "prop":
            self.material(f"{name}m", kind in ["ball", "box", "embedded", "rod", "ring"])
            keys.append(f'material = "{name}m"')
        self.put(f"[object.{name}]", *keys)
        self.put(f"position = {list(position)}", f"velocity = {list(velocity)}")
        if turned:
            angle = self.random.uniform(0, math.pi)
            self.put(f"rotation = {{ axis = {self.direction()}, angle = {angle} }}")
        if spins:
            rate = self.log(1, math.pi / self.h)
            self.put(f"angular_velocity = {self.direction(rate)}")
        return name

    def collider(self, position, motion=""):
        """A prescribed prop near `position`."""
        name, size = f"c{self.colliders}", self.random.uniform(0.03, 0.15)
        self.colliders += 1
        shape = self.random.choice(
            [
                f'kind = "box"\nsize = [{2 * size}, {size / 3}, {size / 3}]',
                f'kind = "sphere"\nradius = {size / 2}',
                f'kind = "capsule"\nradius = {size / 6}\nlength = {2 * size}',
                f'kind = "mesh"\nfile = "bunny.obj"\nup = "y"\nscale = {size / 0.2}',
            ]
        )
        self.put(f"[collider.{name}]", shape, f"position = {list(position)}")
        if motion:
            self.put(f"motion = {{ {motion} }}")

    def ground(self, height):
        tilt = self.random.choice([0, 0, self.random.uniform(-0.5, 0.5)])
        self.put(f'[collider.ground]\nkind = "plane"\nposition = [0, 0, {height}]')
        self.put(f"rotation = {{ axis = [1, 0, 0], angle = {tilt} }}")

    def throw(self):
        """Objects that fly at each other."""
        speed, count = self.log(0.5, 300), self.random.randint(2, 3)
        first = self.direction(self.random.uniform(0.15, 0.3))
        for number in range(count):
            place = [(1 - 2 * (number % 2)) * (1 + number // 2) * x for x in first]
            length = math.sqrt(sum(x * x for x in place))
            velocity = [-speed * x / length for x in place]
            self.add(place, velocity, spins=self.one_in(3))
        self.time_to_meet(0.15 / speed)

    def time_to_meet(self, seconds):
        """Slow objects meet late: they get larger steps, up to 10 ms."""
        if seconds > self.steps * self.h:
            h = min(1e-2, 2 * seconds / self.steps)
            old = next(i for i, line in enumerate(self.lines) if line.startswith("time ="))
            duration = (self.steps - 0.5) * h
            self.h = h
            self.lines[old] = self.time(duration, h)

    def bounce(self):
        """Objects on a floor or at each other, with restitution."""
        self.ground(-0.09)
        speed = self.log(0.5, 30)
        for number in range(self.random.randint(1, 3)):
            self.add([0.02 * number, 0, 0.03 + 0.2 * number], [0, 0, -speed], spins=self.one_in(2))
        self.time_to_meet(0.12 / speed)

    def spin(self):
        """A prescribed prop turns by up to 2 pi in a step, and moves through objects."""
        speed = self.log(0.3, 10)
        self.time_to_meet(0.2 / speed)
        axis = self.direction(self.log(1, 2 * math.pi / self.h))
        stop = self.steps * self.h * self.random.uniform(0.7, 1)
        motion = f"angular_velocity = {axis}, velocity = [0, 0, {-speed}], stop = {stop}"
        place = [self.random.uniform(-0.05, 0.05), 0, 0.25]
        if self.one_in(2):
            motion += f", center = {[a + b for a, b in zip(place, self.direction(0.1))]}"
        self.collider(place, motion)
        self.add([0, 0, 0], kind="cloth" if self.one_in(2) else None, turned=False)
        if self.one_in(2):
            self.add([0, 0.02, -0.2], spins=True)

    def press(self):
        """Two walls press objects, with speeds up to 30 m/s."""
        speed = self.log(0.3, 30)
        stop = (0.175 - self.log(2e-3, 0.06)) / speed
        self.time_to_meet(0.8 * stop)
        for side in [-1, 1]:
            self.put(f"[collider.wall{side + 1}]", 'kind = "box"\nsize = [0.6, 0.6, 0.05]')
            self.put(f"position = [0, 0, {side * 0.2}]")
            self.put(f"motion = {{ velocity = [0, 0, {-side * speed}], stop = {stop} }}")
        for number in range(self.random.randint(1, 2)):
            self.add([0.25 * number, 0, 0])

    def drop(self):
        """A pile falls on the ground, or on a ball."""
        self.ground(-0.1)
        if self.one_in(2):
            self.collider([0, 0, -0.01])
        speed = self.log(1, 20)
        self.time_to_meet(0.25 / speed)
        for number in range(self.random.randint(2, 3)):
            shift = [self.random.uniform(-0.02, 0.02) for _ in range(2)]
            self.add([*shift, 0.2 + 0.2 * number], [0, 0, -speed], turned=self.one_in(2))

    def pinned(self):
        """A held cloth is hit by a small fast object."""
        name = self.add([0, 0, 0], kind="cloth", turned=False)
        group = self.random.choice(["corners", "left", "top"])
        self.put(f'[pin.held]\nobject = "{name}"\nat = {{ group = "{group}" }}')
        speed = self.log(1, 300)
        kind = self.random.choice(["prop", "ball", "rod"])
        self.add([0.01, 0.01, 0.15], [0, 0, -speed], kind=kind)
        self.time_to_meet(0.1 / speed)


def diagonal(folder):
    """Diagonal of the points of all objects at the start."""
    data = (folder / "frames" / "00000.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    low, high = [math.inf] * 3, [-math.inf] * 3
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name.startswith("o") and name.endswith("/points"):
            begin, end = entry["data_offsets"]
            points = array.array("d", data[8 + size + begin : 8 + size + end])
            for axis in range(3):
                low[axis] = min([low[axis], *points[axis::3]])
                high[axis] = max([high[axis], *points[axis::3]])
    return math.dist(low, high) if low[0] <= high[0] else 1.0


def audit(steps, restitution):
    """Largest gain of energy (J, relative), and the number of steps that gained."""
    levels, work, worst, gained, peak = [], 0.0, (0.0, 0.0, None), 0, 0.0
    for step in steps:
        energy = step["energy_j"]
        total = energy["kinetic"] + energy["elastic"] + energy["gravity"] + energy.get("layers", 0)
        if not levels:
            # The energy at the start is not in the log; it follows from the flows of the first step.
            losses = energy["viscous"] + energy["contact"] + energy["numerical"]
            levels.append(total - energy["work"] + losses - energy.get("unbalanced", 0))
            before = energy
        work += energy["work"]
        levels.append(total - work)
        gain = levels[-1] - max(levels[-4:-1] if restitution else levels[-2:-1])
        turned = abs(energy["gravity"] - before["gravity"]) + abs(energy["work"])
        stored = max(e["kinetic"] + e["elastic"] for e in [energy, before])
        # At rest, contacts solved to their tolerance still work along it.
        peak = max(peak, stored + turned)
        relative = gain / max(stored + turned, 1e-3 * peak, 1e-12)
        before = energy
        gained += relative > GAIN
        if relative > worst[1]:
            worst = (gain, relative, step["step"])
    return {"gained_steps": gained, "gain_j": worst[0], "gain": worst[1], "gain_step": worst[2]}


def call(command, limit):
    """Exit code, output and error output; a process beyond its time is killed."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output, errors = process.communicate(timeout=limit)
        return process.returncode, output, errors
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "timeout", "", ""


def run_scene(options, folder, number):
    """Runs a scene and checks the run."""
    scene = Scene(options.seed, number)
    place = folder / str(number)
    place.mkdir()
    (place / "scene.toml").write_text(scene.text())
    command = [options.reefknot, "run", str(place / "scene.toml"), "--out", str(place / "run")]
    command += ["--quiet", "--threads", "1", "--time-limit", str(options.time_limit)]
    for change in options.set:
        command += ["--set", change]
    began = time.monotonic()
    code, _, errors = call(command, options.time_limit + GRACE)
    row = {"number": number, "kind": scene.kind, "exit": code, "restitution": scene.restitution}
    row["integrator"] = "linear-euler" if scene.is_linear else "default"
    row["seconds"] = round(time.monotonic() - began, 3)
    lines = [line for line in errors.splitlines() if "error" in line] or errors.splitlines()[-1:]
    row["reason"] = lines[0][:300] if lines and code != 0 else None
    log = place / "run" / "run.jsonl"
    if log.exists():
        steps = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        row |= facts(steps, place / "run", scene.restitution)
    if code == 0:
        row["check"], output, _ = call(
            [options.reefknot, "check", str(place / "run")], options.time_limit + GRACE
        )
        row["wrong"] = [line for line in output.splitlines() if line.startswith("wrong")][:3]
    row["silent"] = silent(row)
    if is_bad(row):
        kept = pathlib.Path(options.keep)
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(place / "scene.toml", kept / f"{options.seed}-{number}.toml")
    shutil.rmtree(place)
    return row


def facts(steps, run, restitution):
    """Numbers of a run from its log."""
    count = lambda key: sum(bool(step.get(key)) for step in steps)
    row = {"steps": len(steps), "halved": count("halvings"), "failsafe": count("failsafe")}
    row |= {"unconverged": count("unconverged"), "step_s": [step["wall_s"] for step in steps]}
    row |= audit(steps, restitution)
    row["reported_gain_j"] = max((s.get("gain_j", {}).get("gain", 0.0) for s in steps), default=0.0)
    row["contacts"] = max((step["contacts"] for step in steps), default=0)
    size = diagonal(run)
    for key in ERRORS:
        worst = max((step[key] or 0.0 for step in steps), default=0.0)
        row[key], row[key + "_relative"] = worst, worst / size
    return row


def silent(row):
    """Why a run with exit code 0 should not have had it."""
    if row["exit"] != 0:
        return []
    found = ["check"] if row["check"] != 0 else []
    if row.get("gain", 0) > LOUD_GAIN:
        found.append("energy")
    # The linearised method does not claim the nonlinear equations.
    claimed = ERRORS[:2] if row["integrator"] == "linear-euler" else ERRORS
    return found + [key for key in claimed if row.get(key + "_relative", 0) > LOUD_ERROR]


def is_bad(row):
    return bool(row["silent"]) or row["exit"] not in [0, 2] or row.get("gain", 0) > LOUD_GAIN


def summary(options, rows):
    """Sums, extremes and lists over all runs."""
    total = lambda key: sum(row.get(key, 0) for row in rows)
    codes = sorted({str(row["exit"]) for row in rows})
    times = sorted(t for row in rows for t in row.get("step_s", []))
    result = {"seed": options.seed, "scenes": len(rows), "set": options.set}
    result["exit"] = {code: sum(str(row["exit"]) == code for row in rows) for code in codes}
    for key in ["steps", "halved", "failsafe", "unconverged", "gained_steps"]:
        result[key] = total(key)
    result["with_contacts"] = sum(row.get("contacts", 0) > 0 for row in rows)
    for key in ["gain_j", "gain", "reported_gain_j", *ERRORS, *(k + "_relative" for k in ERRORS)]:
        worst = max(rows, key=lambda row: row.get(key, 0.0), default={})
        result[key] = {"max": worst.get(key, 0.0), "number": worst.get("number")}
    result["step_s"] = {
        "mean": sum(times) / max(len(times), 1),
        "median": times[len(times) // 2] if times else None,
        "max": times[-1] if times else None,
    }
    result["check_failures"] = sum(row.get("check", 0) != 0 for row in rows)
    silent_rows = [row for row in rows if row["silent"]]
    result["silent"] = [{k: row[k] for k in ["number", "kind", "silent"]} for row in silent_rows]
    result["bad"] = [row["number"] for row in rows if is_bad(row)]
    return result


def table(rows):
    """Lines for the bad runs."""
    yield " scene kind       exit steps halved unconv     gain error/diag      s  found"
    for row in filter(is_bad, rows):
        worst = max(row.get(key + "_relative", 0.0) for key in ERRORS)
        ends = {75: "ended by its time limit", "timeout": "killed beyond its time limit"}
        found = " ".join(row["silent"]) or row["reason"] or ends.get(row["exit"], "energy")
        yield (
            f"{row['number']:6} {row['kind']:7} {row['exit']!s:>7} {row.get('steps', 0):5} "
            f"{row.get('halved', 0):6} {row.get('unconverged', 0):6} {row.get('gain', 0):8.1e} "
            f"{worst:10.1e} {row['seconds']:6.1f}  {found[:110]}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reefknot", required=True, help="path of the program")
    parser.add_argument("--scenes", type=int, default=100, help="number of scenes")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--time-limit", type=float, default=15.0, help="seconds for a run")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for every scene")
    parser.add_argument("--keep", default="trust-bad", help="folder for the scenes of bad runs")
    parser.add_argument("--rows", action="store_true", help="all rows in the JSON object")
    parser.add_argument("--print", type=int, help="print the scene with this number, and end")
    options = parser.parse_args()
    if options.print is not None:
        sys.stdout.write(Scene(options.seed, options.print).text())
        return
    numbers = range(options.first, options.first + options.scenes)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = list(pool.map(lambda number: run_scene(options, folder, number), numbers))
    result = summary(options, rows)
    for line in table(rows):
        print(line)
    print(f"exit codes {result['exit']}; {result['steps']} steps, {result['halved']} halved, "
          f"{result['unconverged']} unconverged, {result['gained_steps']} gained energy; "
          f"{len(result['silent'])} silent failures, {result['check_failures']} failed checks")
    if options.rows:
        result["rows"] = [{k: v for k, v in row.items() if k != "step_s"} for row in rows]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
