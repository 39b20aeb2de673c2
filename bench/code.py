"""Measures the shape of the Rust code of a tree.

    python3 bench/code.py [FOLDER]

Prints one JSON object: lines, lines over 100 columns, the longest files and functions, functions
over 60 lines, and groups of top-level modules of a crate that depend on each other in cycles.
Functions are found by indentation, as rustfmt writes them. Dependencies are paths that begin with
`crate::`, outside of test modules.
"""

import json
import pathlib
import re
import subprocess
import sys

FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe) )*fn (\w+)")
PATH = re.compile(r"\bcrate::(\w+)")
GROUP = re.compile(r"\bcrate::\{(.*?)\};", re.S)


def functions(lines):
    """Name and number of lines of each function with a body."""
    for begin, line in enumerate(lines):
        found = FUNCTION.match(line)
        if not found:
            continue
        indent, name = found.groups()
        for end in range(begin, len(lines)):
            text = lines[end]
            is_outer = len(text) - len(text.lstrip()) == len(indent)
            if is_outer and text.endswith(";"):
                break  # a declaration in a trait
            if is_outer and text.endswith("}"):
                yield name, end - begin + 1
                break


def without_tests(text):
    """The text before its test module, without comments."""
    text = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, flags=re.M)[0]
    return re.sub(r"//.*", "", text)


def dependencies(source):
    """For each top-level module of a crate, the modules that its paths name."""
    graph = {}
    for file in source.rglob("*.rs"):
        parts = file.relative_to(source).with_suffix("").parts
        if parts[0] in ("lib", "main") or "tests" in parts:
            continue
        text = without_tests(file.read_text())
        named = set(PATH.findall(text))
        for group in GROUP.findall(text):
            named |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
        graph.setdefault(parts[0], set()).update(named)
    return {module: named & graph.keys() - {module} for module, named in graph.items()}


def reachable(graph, start):
    seen, stack = set(), [start]
    while stack:
        new = graph[stack.pop()] - seen
        seen |= new
        stack += new
    return seen


def cycles(graph):
    reach = {module: reachable(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in graph
        if module in reach[module]
    }
    return sorted(groups)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(
        ["git", "-C", str(folder), "ls-files", "*.rs"], capture_output=True, text=True, check=True
    )
    texts = {path: (folder / path).read_text().splitlines() for path in listed.stdout.split()}
    found = [
        (size, f"{path}: {name}") for path, lines in texts.items() for name, size in functions(lines)
    ]
    found.sort(reverse=True)
    over = [entry for entry in found if entry[0] > 60]
    crates = sorted(folder.glob("crates/*/src"))
    result = {
        "files": len(texts),
        "lines": sum(len(lines) for lines in texts.values()),
        "lines_over_100_columns": sum(len(line) > 100 for lines in texts.values() for line in lines),
        "longest_files": sorted(((len(x), path) for path, x in texts.items()), reverse=True)[:3],
        "functions": len(found),
        "functions_over_60_lines": len(over),
        "functions_over_60_lines_in_tests": sum("test" in name for _, name in over),
        "longest_functions": over[:20],
        "cyclic_modules": {crate.parent.name: cycles(dependencies(crate)) for crate in crates},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
