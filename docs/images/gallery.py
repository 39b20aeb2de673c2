"""Draws the gallery from a run's folder.

reefknot run gallery
python docs/images/gallery.py runs/gallery docs/images/gallery.png [FRAME [X Z ZOOM]]    (needs pyvista and numpy)
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyvista as pv

TYPES = {"F64": "<f8", "F32": "<f4", "I32": "<i4", "U8": "u1"}
COLORS = {
    "shell": "#b8312f",
    "rods": "#8a5a2b",
    "solid": "#2f7d4f",
    "embedded": "#4f9d6f",
    "rigid": "#3b6ea8",
    "collider": "#a0a4aa",
}


def read(path):
    data = Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__")
    part = lambda t: data[start + t["data_offsets"][0] : start + t["data_offsets"][1]]
    return {name: np.frombuffer(part(t), TYPES[t["dtype"]]).reshape(t["shape"]) for name, t in header.items()}


def draw_ribbon(name, edges, half_width, color):
    """A flat rod: each edge as a rectangle along the first axis of its section."""
    points, directors = frame[f"{name}/points"], frame[f"{name}/directors"]
    side = half_width * directors
    corners = np.stack([points[edges[:, 0]] - side, points[edges[:, 1]] - side, points[edges[:, 1]] + side, points[edges[:, 0]] + side], axis=1)
    faces = np.hstack([np.full((len(edges), 1), 4), np.arange(4 * len(edges)).reshape(-1, 4)])
    plotter.add_mesh(pv.PolyData(corners.reshape(-1, 3), faces), color=color, show_edges=True)


run, target = Path(sys.argv[1]), sys.argv[2]
frame_files = sorted((run / "frames").glob("*.safetensors"))
frame = read(frame_files[int(sys.argv[3]) if len(sys.argv) > 3 else -1])
topology = read(run / "topology.safetensors")
manifest = json.loads((run / "manifest.json").read_text())

plotter = pv.Plotter(window_size=(2000, 720), off_screen=True)
for name, kind in zip(manifest["objects"], manifest["kinds"]):
    points = frame[f"{name}/points"]
    color = COLORS[kind]
    if f"{name}/triangles" in topology:
        triangles = topology[f"{name}/triangles"]
        faces = np.hstack([np.full((len(triangles), 1), 3), triangles])
        surface = pv.PolyData(points, faces)
        edges = kind in ("shell", "solid") and len(triangles) < 3000
        opacity = 0.35 if name == "floor" else 1.0
        plotter.add_mesh(surface, color=color, show_edges=edges, edge_color="#222222", line_width=0.5, opacity=opacity)
    if f"{name}/edges" in topology:
        edges = topology[f"{name}/edges"]
        lines = pv.PolyData(points, lines=np.hstack([np.full((len(edges), 1), 2), edges]))
        wide, radius = topology[f"{name}/radius"]
        if wide != radius:
            draw_ribbon(name, edges, wide, color)
        elif radius > 5e-4:
            plotter.add_mesh(lines.tube(radius=radius, n_sides=10), color=color)
        else:
            plotter.add_mesh(lines, color=color, line_width=1)
plotter.set_background("white")
eye, focus, zoom = (0.25, -8.0, 2.2), (0.25, 0, 0.85), 2.0
if len(sys.argv) > 4:
    x, z, zoom = (float(value) for value in sys.argv[4:7])
    eye, focus = (x, -8.0, z + 1.0), (x, 0, z)
plotter.camera_position = [eye, focus, (0, 0, 1)]
plotter.camera.zoom(zoom)
plotter.screenshot(target)
