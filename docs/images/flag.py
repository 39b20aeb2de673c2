"""Draws the README's picture from an export of the flag.

reefknot run flag && reefknot export runs/flag --to vtk
python docs/images/flag.py runs/flag/export/flag.pvd docs/images/flag.png    (needs pyvista)
"""

import sys

import pyvista as pv

source, target = sys.argv[1:3]
reader = pv.get_reader(source)
frames = [18, 34, 50, 90]
plotter = pv.Plotter(shape=(1, len(frames)), window_size=(1600, 420), off_screen=True, border=False)
for column, frame in enumerate(frames):
    reader.set_active_time_point(frame)
    plotter.subplot(0, column)
    for cloth in reader.read():
        surface = cloth.extract_surface(algorithm="dataset_surface").compute_normals()
        plotter.add_mesh(surface, color="#b8312f", smooth_shading=True, specular=0.25)
    pole = pv.Cylinder(center=(-0.012, 0, 1.55), direction=(0, 0, 1), radius=0.012, height=2.1)
    plotter.add_mesh(pole, color="#777777")
    plotter.add_text(f"{reader.time_values[frame]:.2f} s", font_size=9, color="#444444")
    plotter.camera_position = [(1.0, -4.0, 2.5), (0.72, 0, 1.85), (0, 0, 1)]
    plotter.camera.zoom(1.25)
plotter.set_background("white")
plotter.screenshot(target)
