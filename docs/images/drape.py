"""Draws the README's picture from the frames of a drape.

reefknot run drape
python docs/images/drape.py runs/drape docs/images/drape.png    (needs matplotlib, numpy, safetensors)
"""

import sys

import matplotlib
import numpy as np
from safetensors.numpy import load_file

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import LightSource

run, target = sys.argv[1:3]
topology = load_file(f"{run}/topology.safetensors")
cloth = topology["cloth/triangles"]
figure = plt.figure(figsize=(16, 4.2))
for column, frame in enumerate([0, 12, 24, 96]):
    points = load_file(f"{run}/frames/{frame:05d}.safetensors")["cloth/points"]
    axes = figure.add_subplot(1, 4, column + 1, projection="3d", computed_zorder=False)
    u, v = np.mgrid[0 : 2 * np.pi : 40j, 0 : np.pi : 20j]
    ball = [0.295 * np.cos(u) * np.sin(v), 0.295 * np.sin(u) * np.sin(v), 0.3 + 0.295 * np.cos(v)]
    axes.plot_surface(*ball, color="#999999", zorder=1)
    axes.plot_trisurf(
        *points.T, triangles=cloth, color="#b8312f", lightsource=LightSource(azdeg=300, altdeg=50), zorder=2
    )
    axes.set(xlim=(-0.5, 0.5), ylim=(-0.5, 0.5), zlim=(0, 0.7))
    axes.set_box_aspect((1, 1, 0.7), zoom=1.5)
    axes.view_init(elev=18, azim=-60)
    axes.set_axis_off()
    axes.text2D(0.05, 0.9, f"{frame / 50:.2f} s", transform=axes.transAxes, color="#444444")
figure.subplots_adjust(0, 0, 1, 1, 0, 0)
figure.savefig(target, dpi=90)
