"""Compares the errors of a captured problem by docs/read_problem.py and by `reefknot solve`.

Usage: python3 .ci/problems.py PROGRAM PROBLEM FOLDER
"""

import json
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "docs"))
import read_problem

program, problem, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def write(path, arrays):
    """Writes f64 arrays as a safetensors file."""
    header, data = {}, b""
    for name, array in arrays.items():
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": "F64", "shape": array.shape, "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def agrees(solution, *options):
    """Whether program and reader compute the same errors of a solution."""
    command = [program, "solve", problem, *options, solution, "--summary", "json", "--quiet"]
    summary = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    arrays = read_problem.read(solution)
    found = read_problem.errors(read_problem.read(problem), arrays["r"], arrays["v"])
    expected = [summary["contact_error_m"], summary["momentum_error_m"]]
    print("reader:", *found, "m; program:", *expected, "m")
    # Errors below 1e-12 m are rounding.
    return all(abs(a - b) <= 1e-8 * b + 1e-12 for a, b in zip(found, expected))


solved, disturbed = folder / "solved.safetensors", folder / "disturbed.safetensors"
is_same = agrees(solved, "--write")
# The momentum error of the solution is rounding; that of the disturbed one is large.
arrays = read_problem.read(solved)
write(disturbed, {"r": arrays["r"], "v": 1.001 * arrays["v"]})
is_same &= agrees(disturbed, "--grade")
sys.exit(0 if is_same else "docs/read_problem.py and reefknot solve disagree")
