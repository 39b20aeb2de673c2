"""Draws the README's picture: the reef knot holds with much friction, and lets go with little.

reefknot run reefknot
reefknot run reefknot --set parameters.mu=0.1 --out runs/slips
python docs/images/reefknot.py runs/reefknot runs/slips docs/images/reefknot.png    (needs matplotlib, numpy, safetensors)
"""

import sys

import matplotlib
import numpy as np
from safetensors.numpy import load_file

matplotlib.use("Agg")
import matplotlib.pyplot as plt

holds, slips, target = sys.argv[1:4]
ROPES = ["#c8553d", "#2f6690"]
turn = np.radians(15)
right, depth = np.array([np.sin(turn), np.cos(turn), 0]), np.array([np.cos(turn), -np.sin(turn), 0])
flat = lambda points: np.stack([points @ right, points[..., 2]], -1)


def draw(axes, run, frame, caption):
    topology = load_file(f"{run}/topology.safetensors")
    now = load_file(f"{run}/frames/{frame:05d}.safetensors")
    pieces = []
    for name, color in [("bunny", "#d9c7a8"), ("hook", "#8a8d91")]:
        triangles = now[f"{name}/points"][topology[f"{name}/triangles"]]
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-15
        light = 0.55 + 0.45 * np.clip(normals @ np.array([0.6, -0.2, 0.77]), 0, 1)
        base = np.array(matplotlib.colors.to_rgb(color))
        for corners, shade in zip(triangles, light):
            pieces.append((corners.mean(0) @ depth, flat(corners), base * shade, None))
    points, edges = now["ropes/points"], topology["ropes/edges"]
    for a, b in edges:
        rope = int(a >= len(points) // 2)
        pieces.append((0.5 * (points[a] + points[b]) @ depth + 0.004, flat(points[[a, b]]), ROPES[rope], a))
    axes.set(xlim=(-0.13, 0.13), ylim=(0.19, 0.85), aspect="equal")
    axes.set_axis_off()
    width = axes.get_window_extent().height / 0.66 * 72 / axes.figure.dpi * 0.0085
    for order, (_, corners, color, edge) in enumerate(sorted(pieces, key=lambda piece: piece[0])):
        if edge is None:
            axes.fill(*corners.T, color=color, lw=0, zorder=order)
            continue
        base = np.array(matplotlib.colors.to_rgb(color))
        for part, shade in [(1.0, 0.35), (0.86, 0.8), (0.5, 1.0), (0.2, 1.25)]:
            shaded = np.clip(base * (shade + 0.08 * (edge % 2)), 0, 1)
            axes.plot(*corners.T, color=shaded, lw=part * width, solid_capstyle="round", zorder=order + 0.1 * (1 - part))
    axes.text(0.5, 0.01, caption, transform=axes.transAxes, ha="center", color="#444444", fontsize=13)


figure, columns = plt.subplots(1, 4, figsize=(13, 7.6))
figure.subplots_adjust(0, 0, 1, 1, 0, 0)
shots = [(holds, 0, "start"), (holds, 25, "1 s"), (holds, 50, "2 s, $\\mu$ = 0.4: it holds"), (slips, 25, "1 s, $\\mu$ = 0.1: it lets go")]
for axes, (run, frame, caption) in zip(columns, shots):
    draw(axes, run, frame, caption)
figure.savefig(target, dpi=72)
