"""Compares bits and speed of two builds on the same scenes.

    python3 bench/builds.py BEFORE AFTER [SCENE ...] [--size quick]

Prints one JSON object: for each scene and build a fingerprint of the last state, over the fields
that the checkpoints of both builds have, and the time per step (minimum of three runs). The builds
run alternately, so that other load slows both.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import subprocess
import tempfile

SCENES = ["drape", "cards", "reefknot", "hairy-ball", "furry-bunny"]


def run(program, scene, folder, is_quick):
    command = [program, "run", scene, "--out", str(folder), "--overwrite", "--quiet"]
    command += ["--summary", "json"] + ["--quick"] * is_quick
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def last_checkpoint(folder):
    data = max((folder / "checkpoints").iterdir()).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    offsets = {name: array["data_offsets"] for name, array in header.items()}
    return {name: data[8 + size + a : 8 + size + b] for name, (a, b) in offsets.items()}


def fingerprint(arrays, names):
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + arrays[name])
    return digest.hexdigest()[:16]


def compare(builds, scene, is_quick, folder, repetitions):
    summaries, arrays = {build: [] for build in builds}, {}
    for _ in range(repetitions):
        for build in builds:
            summaries[build].append(run(build, scene, folder, is_quick))
            arrays[build] = last_checkpoint(folder)
    common = set.intersection(*(set(fields) for fields in arrays.values()))
    fingerprints = [fingerprint(arrays[build], common) for build in builds]
    wall = [min(run["wall_per_step_s"]["mean"] for run in summaries[build]) for build in builds]
    cpu = [min(run["cpu_s"] / run["steps"] for run in summaries[build]) for build in builds]
    return {
        "scene": scene,
        "fields": sorted(common),
        "fingerprints": fingerprints,
        "same_bits": fingerprints[0] == fingerprints[1],
        "wall_per_step_s": wall,
        "cpu_per_step_s": cpu,
        "after_over_before": {"wall": wall[1] / wall[0], "cpu": cpu[1] / cpu[0]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--size", choices=["quick", "default"], default="default")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    builds, is_quick = [options.before, options.after], options.size == "quick"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "run"
        results = [
            compare(builds, scene, is_quick, folder, options.repetitions)
            for scene in options.scenes
        ]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
