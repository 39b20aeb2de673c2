"""Two builds on the same scenes: whether they give the same bits, and how fast each is.

    python3 bench/builds.py BEFORE AFTER [SCENE ...] [--size quick]

Prints one JSON object: for each scene a fingerprint of the last state by each build, over the fields that checkpoints of
both have, and time per step (least of three runs in turn). Two builds are run in turn, so that other load slows both.
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
    begin = {name: array["data_offsets"] for name, array in header.items()}
    return {name: data[8 + size + a : 8 + size + b] for name, (a, b) in begin.items()}


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
    common = set.intersection(*(set(found) for found in arrays.values()))
    prints = [fingerprint(arrays[build], common) for build in builds]
    times = [min(it["wall_per_step_s"]["mean"] for it in summaries[build]) for build in builds]
    cpu = [min(it["cpu_s"] / it["steps"] for it in summaries[build]) for build in builds]
    return {
        "scene": scene, "fields": sorted(common), "fingerprints": prints,
        "same_bits": prints[0] == prints[1], "wall_per_step_s": times, "cpu_per_step_s": cpu,
        "after_over_before": {"wall": times[1] / times[0], "cpu": cpu[1] / cpu[0]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--size", choices=["quick", "default"], default="default")
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    builds, is_quick = [given.before, given.after], given.size == "quick"
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "run"
        found = [compare(builds, it, is_quick, folder, given.repetitions) for it in given.scenes]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
