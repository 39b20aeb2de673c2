#!/usr/bin/env python3
"""Compares reefknot, MuJoCo's flex and Newton's VBD on a cloth that drapes over a sphere.

    python3 bench/peers/drape.py --reefknot target/release/reefknot [--sizes 20,50,80] > drape.json

The first run makes a virtual environment in `target/peers-drape` from `requirements-drape.txt`.
Then every program drapes the same cloth, one process after the other. CPU time is that of all
threads, and of the steps only: scene setup and kernel compilation do not count for the peers. A run
that takes longer than `--limit` seconds stops between two steps and reports its simulated time;
reefknot then runs for the same time, so that ratios compare the same part of the motion. Of
`--repeat` runs the one with the median time counts.

MuJoCo: `<flag ipc="enable"/>` with `integrator="discrete"`. Free of intersections, but without
friction, so the cloth may slide off the sphere in time: `centre_m` shows this. Its documentation
recommends the solver `Newton`; `CG` is faster on finer cloths, so both are measured.

Newton: `SolverVBD` on the CPU, as recorded graphs, with 10 iterations and self-contact; friction
0.3, smoothed. It moves no vertex farther in a step than the search radius of self-contact, so the
cloth would fall too slowly with a shorter radius; with steps of 10 ms it still falls too slowly.
Only vertices collide with the sphere, which may penetrate between them.

`ratios` are the simulated seconds per CPU second of reefknot over those of the peer. Run it on an
idle machine.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import traceback
import venv

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / "target" / "peers-drape"
REQUIREMENTS = HERE / "requirements-drape.txt"

SIDE = 1.0  # m
MASS = 0.2  # kg
THICKNESS = 1e-3  # m
YOUNG = 1e5  # Pa
POISSON = 0.3
DAMPING = 2e-3  # s, times the stiffness
RADIUS = 0.3  # m, of the sphere
DROP = 0.05  # m, from the cloth to the top of the sphere
GRAVITY = 9.81  # m/s²
FRICTION = 0.3
TOP_SPEED = 3.0  # m/s, about the maximum speed of the falling corners

# The modes of each peer, and their time steps (s).
MODES = {
    "mujoco": [("ipc, solver Newton", 0.01), ("ipc, solver CG", 0.01)],
    "newton": [("VBD", 0.01), ("VBD", 0.002)],
}
SETUP_LIMIT = 600.0  # s; compiling kernels takes a minute on the first run


def enter_environment():
    """Restarts in the virtual environment; makes it again if the requirements have changed."""
    if pathlib.Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    python, wanted = ENVIRONMENT / "bin" / "python", REQUIREMENTS.read_text()
    # Written last, so that a broken installation is made again.
    installed = ENVIRONMENT / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted:
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        # One by one: a peer that cannot be installed is skipped.
        install = [str(python), "-m", "pip", "install", "--quiet"]
        codes = [
            subprocess.run([*install, line], stdout=sys.stderr).returncode
            for line in wanted.split()
        ]
        if not any(codes):
            installed.write_text(wanted)
    os.execv(python, [str(python), *sys.argv])


class MujocoDrape:
    """The drape as a flex of MuJoCo in its `ipc` contact mode."""

    def __init__(self, n, mode, step):
        import mujoco

        self.mujoco, self.warnings = mujoco, 0
        mujoco.set_mju_user_warning(self.count_warning)
        spacing = SIDE / (n - 1)
        self.model = mujoco.MjModel.from_xml_string(f"""
            <mujoco>
              <option timestep="{step}" gravity="0 0 {-GRAVITY}" integrator="discrete"
                      solver="{mode.split()[-1]}" tolerance="1e-6">
                <flag ipc="enable" autoreset="disable"/>
              </option>
              <size memory="2G"/>
              <worldbody>
                <geom type="plane" size="0 0 1"/>
                <geom type="sphere" size="{RADIUS}" pos="0 0 {RADIUS}"/>
                <flexcomp name="cloth" type="grid" dim="2" count="{n} {n} 1"
                          spacing="{spacing} {spacing} {spacing}"
                          pos="0 0 {2 * RADIUS + DROP}" radius="{THICKNESS / 2}" mass="{MASS}">
                  <contact selfcollide="auto"/>
                  <elasticity young="{YOUNG}" poisson="{POISSON}" thickness="{THICKNESS}"
                              damping="{DAMPING}" elastic2d="both"/>
                </flexcomp>
              </worldbody>
            </mujoco>""")
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)

    def count_warning(self, _message):
        self.warnings += 1

    def advance(self):
        self.mujoco.mj_step(self.model, self.data)

    def positions(self):
        return self.data.flexvert_xpos


class NewtonDrape:
    """The drape as particles of Newton, solved by vertex block descent on the CPU."""

    def __init__(self, n, _mode, step):
        import warp

        warp.config.quiet = True
        import newton

        self.warp, self.step, self.steps, self.warnings = warp, step, 0, 0
        warp.set_device("cpu")
        self.model = self.build(newton, n)
        # The inertial guess and the iterations may each move a vertex by 0.425 of the radius.
        reach = max(2 * THICKNESS, TOP_SPEED * step / 0.85)
        self.solver = newton.solvers.SolverVBD(
            self.model,
            iterations=10,
            particle_enable_self_contact=True,
            particle_self_contact_margin=THICKNESS,
            particle_self_contact_gap=reach - THICKNESS,
            collision_pipeline=newton.CollisionPipeline(
                self.model, soft_contact_gap=TOP_SPEED * step
            ),
        )
        self.states, self.control = [self.model.state(), self.model.state()], self.model.control()
        self.graphs = self.record()

    def build(self, newton, n):
        """The same material as Lamé parameters of the sheet and bending stiffness of hinges."""
        warp, spacing = self.warp, SIDE / (n - 1)
        shear = YOUNG * THICKNESS / (2 * (1 + POISSON))
        # A hinge of length l stores ke l θ² / 2. On this grid, bent about one of its axes, this
        # is the energy of the plate.
        hinge = YOUNG * THICKNESS**3 / (12 * (1 - POISSON**2)) / spacing
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
        surface = newton.ModelBuilder.ShapeConfig(ke=1e3, kd=0.1, mu=FRICTION)
        builder.add_ground_plane(cfg=surface)
        at_centre = warp.transform(warp.vec3(0.0, 0.0, RADIUS), warp.quat_identity())
        builder.add_shape_sphere(body=-1, xform=at_centre, radius=RADIUS, cfg=surface)
        builder.add_cloth_grid(
            pos=warp.vec3(-SIDE / 2, -SIDE / 2, 2 * RADIUS + DROP),
            rot=warp.quat_identity(),
            vel=warp.vec3(0.0, 0.0, 0.0),
            dim_x=n - 1,
            dim_y=n - 1,
            cell_x=spacing,
            cell_y=spacing,
            mass=MASS / n**2,
            tri_ke=shear,
            tri_ka=YOUNG * THICKNESS * POISSON / (1 - POISSON**2),
            tri_kd=DAMPING * shear / 2,  # it acts on the rate of FᵀF, twice that of the strain
            edge_ke=hinge,
            edge_kd=DAMPING * hinge,
            particle_radius=THICKNESS / 2,
        )
        builder.color(include_bending=True)
        model = builder.finalize(device="cpu")
        model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 1e3, 0.1, FRICTION
        return model

    def record(self):
        """A graph for each direction between the two states; earlier steps compile kernels."""
        graphs = []
        for parity in (0, 1):
            self.solve(parity)
        for parity in (0, 1):
            with self.warp.ScopedCapture(device="cpu") as capture:
                self.solve(parity)
            graphs.append(capture.graph)
        start = self.model.state()
        for state in self.states:
            state.assign(start)
        return graphs

    def solve(self, parity):
        before, after = self.states[parity], self.states[1 - parity]
        before.clear_forces()
        self.solver.step(before, after, self.control, None, self.step)

    def advance(self):
        self.warp.capture_launch(self.graphs[self.steps % 2])
        self.steps += 1

    def positions(self):
        return self.states[self.steps % 2].particle_q.numpy()


def measure(drape, step, seconds, limit):
    """Steps until `seconds` are simulated or `limit` has passed; times the steps alone."""
    import numpy as np

    steps, cpu, wall, deepest, ended = 0, 0.0, 0.0, -np.inf, "finished"
    while steps < round(seconds / step):
        if wall > limit:
            ended = f"stopped after {limit:g} s"
            break
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        drape.advance()
        cpu, wall, steps = (
            cpu + time.process_time() - cpu_start,
            wall + time.perf_counter() - wall_start,
            steps + 1,
        )
        points = np.array(drape.positions(), dtype=float)
        if not np.isfinite(points).all():
            return {"skipped": f"diverged in step {steps}"}
        deepest = max(deepest, RADIUS - np.linalg.norm(points - [0, 0, RADIUS], axis=1).min())
    n = round(len(points) ** 0.5)
    height, middle = points[:, 2].reshape(n, n), slice((n - 1) // 2, n // 2 + 1)
    return {
        "ended": ended,
        "steps": steps,
        "simulated_s": round(steps * step, 9),
        "cpu_s": cpu,
        "wall_s": wall,
        "ms_per_step": 1e3 * cpu / steps,
        "simulated_s_per_cpu_s": steps * step / cpu,
        "lowest_m": height.min(),
        "highest_m": height.max(),
        "centre_m": height[middle, middle].mean(),
        "corners_m": height[[0, 0, -1, -1], [0, -1, 0, -1]].mean(),
        # Of vertices, in the whole run; negative if they stayed outside of the sphere.
        "max_penetration_m": deepest,
        "warnings": drape.warnings,
    }


def run_case(peer, mode, step, n, options):
    """One run of a peer, in the process started by `run_peer`."""
    kind = {"mujoco": MujocoDrape, "newton": NewtonDrape}[peer]
    try:
        return measure(kind(n, mode, step), step, options.seconds, options.limit)
    except Exception as error:  # any failure of a peer is reported
        traceback.print_exc()
        return {"skipped": f"{type(error).__name__}: {error}"}


def last_line(command, limit):
    """The JSON object on the last line of output of a program, and its wall time (s)."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit)
        figures = json.loads(done.stdout.splitlines()[-1])
        if done.returncode != 0 or not isinstance(figures, dict):
            figures = {"skipped": f"ended with code {done.returncode}, and {figures}"}
    except subprocess.TimeoutExpired:
        return {"skipped": f"stopped after {limit:g} s"}, limit
    except OSError as error:
        return {"skipped": str(error)}, 0.0
    except (IndexError, json.JSONDecodeError):
        figures = {"skipped": f"no figures; ended with code {done.returncode}"}
    return figures, time.perf_counter() - start


def median_of(repeat, run):
    """The run with the median speed of several; the first failed run ends the series."""
    runs = []
    for _ in range(repeat):
        runs.append(run())
        if "skipped" in runs[-1]:
            return runs[-1]
    runs.sort(key=lambda figures: figures["simulated_s_per_cpu_s"])
    return runs[len(runs) // 2]  # the faster one of two


def run_peer(peer, mode, step, n, options):
    """Figures of a peer for one size of cloth."""
    command = [
        sys.executable,
        __file__,
        "--seconds",
        str(options.seconds),
        "--limit",
        str(options.limit),
    ]
    command += ["--case", peer, mode, str(step), str(n)]
    figures = median_of(options.repeat, lambda: last_line(command, options.limit + SETUP_LIMIT)[0])
    return {"program": peer, "mode": mode, "step_s": step} | figures


def run_reefknot(n, seconds, threads, options):
    """Figures of reefknot, from its summary."""

    def run():
        with tempfile.TemporaryDirectory() as folder:
            command = [options.reefknot, "run", "drape", "--set", f"parameters.n={n}"]
            command += ["--set", f'time.duration="{seconds:g} s"', "--threads", str(threads)]
            command += ["--out", folder, "--overwrite", "--summary", "json", "--quiet"]
            summary, wall = last_line(command, options.limit)
        if "skipped" in summary:
            return summary
        wanted = ["steps", "simulated_s", "cpu_s", "intersections", "min_gap_m", "contact_error_m"]
        figures = {name: summary.get(name) for name in wanted} | {"wall_s": wall}
        if not figures["cpu_s"] or not figures["simulated_s"] or not figures["steps"]:
            return {"skipped": f"no times in the summary: {summary}"}
        figures["ms_per_step"] = 1e3 * figures["cpu_s"] / figures["steps"]
        figures["simulated_s_per_cpu_s"] = figures["simulated_s"] / figures["cpu_s"]
        return figures

    return {"program": "reefknot", "threads": threads, "seconds": seconds} | median_of(
        options.repeat, run
    )


def compare(peers, ours):
    """Speed of reefknot over that of each peer for the same motion, by number of threads."""
    ratios = []
    for theirs in peers:
        if "skipped" in theirs:
            continue
        ratio = {key: theirs[key] for key in ("program", "mode", "step_s", "simulated_s")}
        for run in ours:
            # Time steps differ: the last one may end slightly later or earlier.
            same = "skipped" not in run and run["seconds"] == theirs["simulated_s"]
            if same and abs(run["simulated_s"] - run["seconds"]) < 0.011:
                ratio[f"threads_{run['threads']}"] = (
                    run["simulated_s_per_cpu_s"] / theirs["simulated_s_per_cpu_s"]
                )
        if "threads_1" in ratio or "threads_2" in ratio:
            ratios.append(ratio)
    return ratios


def name_of(run):
    if run["program"] == "reefknot":
        return f"reefknot, threads {run['threads']}"
    return f"{run['program']} {run['mode']}, {1e3 * run['step_s']:g} ms"


def print_row(n, run):
    """Prints one line of the table."""
    if "skipped" in run:
        print(f"{n:4} {name_of(run):34} skipped: {run['skipped']}", file=sys.stderr)
        return
    times = f"{run['simulated_s']:8.3f} {run['cpu_s']:9.2f} {run['ms_per_step']:9.2f}"
    times += f" {run['simulated_s_per_cpu_s']:10.5f}"
    if run["program"] == "reefknot":
        rest = f"intersections {run['intersections']}, smallest gap {run['min_gap_m']} m"
    else:
        rest = f"z {run['lowest_m']:.4f} to {run['highest_m']:.4f}"
        rest += f", {1e3 * run['max_penetration_m']:+.2f} mm into the sphere"
        rest += "" if run["ended"] == "finished" else f", {run['ended']}"
    print(f"{n:4} {name_of(run):34} {times}  {rest}", file=sys.stderr, flush=True)


def run_size(n, options):
    """All programs on one cloth."""
    peers, ours = [], []
    for peer in options.peers:
        for mode, step in MODES[peer]:
            peers.append(run_peer(peer, mode, step, n, options))
            print_row(n, peers[-1])
    if options.reefknot:
        durations = {options.seconds} | {
            run["simulated_s"] for run in peers if "skipped" not in run
        }
        for seconds in sorted(durations, reverse=True):
            for threads in (1, 2):
                ours.append(run_reefknot(n, seconds, threads, options))
                print_row(n, ours[-1])
    else:
        ours.append({"program": "reefknot", "skipped": "--reefknot was not given"})
    ratios = compare(peers, ours)
    for ratio in ratios:
        values = [f"{ratio[key]:.2f} ({key})" for key in ("threads_1", "threads_2") if key in ratio]
        print(f"{n:4} over {name_of(ratio)}: {', '.join(values)}", file=sys.stderr, flush=True)
    return {"n": n, "peers": peers, "reefknot": ours, "ratios": ratios}


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reefknot", metavar="PATH", help="the program to compare")
    parser.add_argument(
        "--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[20, 50, 80]
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="simulated time")
    parser.add_argument(
        "--peers", type=lambda text: [name for name in text.split(",") if name], default=list(MODES)
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="K", help="takes the median of K runs"
    )
    parser.add_argument(
        "--limit", type=float, default=900.0, help="wall time after which a run is stopped (s)"
    )
    parser.add_argument(
        "--case", nargs=4, metavar=("PEER", "MODE", "STEP", "N"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    unknown = [name for name in options.peers if name not in MODES]
    if unknown:
        parser.error(f"unknown peers {unknown}; there are {', '.join(MODES)}")
    if (
        min(options.sizes) < 2
        or options.seconds < 0.01
        or options.repeat < 1
        or not options.limit > 0
    ):
        parser.error("sizes start at 2, --seconds at 0.01, --repeat at 1, and --limit is positive")
    return options


def main():
    options = read_options()
    if options.case:
        peer, mode, step, n = options.case
        print(json.dumps(run_case(peer, mode, float(step), int(n), options)))
        return
    print(
        "   N program                            simul. s     CPU s   ms/step   s / CPU s",
        file=sys.stderr,
    )
    report = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: version_of(name) for name in ("mujoco", "newton", "numpy", "warp-lang")},
        "seconds": options.seconds,
        "repeat": options.repeat,
        "limit_s": options.limit,
        "sizes": [run_size(n, options) for n in options.sizes],
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    enter_environment()
    main()
