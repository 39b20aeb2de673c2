//! Objects of the pile, as text: cloth, rods, soft solids, props and colliders of random materials.

use std::fmt::Write;

use crate::generate::{Draft, vector};

/// Range of object sizes (m).
const SIZES: [f64; 2] = [0.05, 0.25];

/// An object of the pile.
pub(crate) struct PileObject {
    pub(crate) keys: String,
    /// Extent below and above the origin, and largest extent in any direction (m).
    pub(crate) below: f64,
    pub(crate) above: f64,
    pub(crate) reach: f64,
    /// Groups for pins.
    pub(crate) groups: &'static [&'static str],
}

impl PileObject {
    /// An object centred at its origin.
    fn centred(keys: String, half: f64, reach: f64, groups: &'static [&'static str]) -> PileObject {
        PileObject {
            keys,
            below: half,
            above: half,
            reach,
            groups,
        }
    }
}

impl Draft {
    pub(crate) fn material(&mut self, number: usize) {
        let (max_young, min_density) = if self.is_explicit {
            (3e4, 100.0)
        } else {
            (1e9, 1.0)
        };
        let (young, density) = (
            self.log_uniform(1e3, max_young),
            self.log_uniform(min_density, 1e6),
        );
        let (poisson, thickness) = (self.between(0.0, 0.49), self.log_uniform(1e-4, 5e-3));
        let membrane = self
            .choices
            .pick(&["stvk", "neo-hookean", "corotated", "springs"]);
        let bending = self.choices.pick(&["hinge", "plate"]);
        let models = [
            "corotated",
            "fixed-corotated",
            "neo-hookean",
            "stable-neo-hookean",
        ];
        let solid = self.choices.pick(&models);
        let damping = self.choices.pick(&["0", "0", "1e-3", "1e-1"]);
        let material = format!(
            "[material.m{number}]\nyoung = {young:.3e}\npoisson = {poisson:.3}\n\
             thickness = {thickness:.3e}\ndensity = {density:.3e}\n\
             membrane_model = \"{membrane}\"\nbending_model = \"{bending}\"\n\
             solid_model = \"{solid}\"\ndamping = {damping}"
        );
        self.line(&material);
    }

    pub(crate) fn cloth(&mut self) -> PileObject {
        let size = [0, 1].map(|_| self.between(0.1, 0.4));
        let vertices = [0, 1].map(|_| 3 + self.choices.below(7));
        let triangles = self.choices.pick(&["right", "alternating", "unstructured"]);
        let keys = format!(
            "kind = \"cloth-grid\"\nsize = [{:.3}, {:.3}]\nvertices = {vertices:?}\n\
                triangles = \"{triangles}\"",
            size[0], size[1]
        );
        PileObject::centred(
            keys,
            0.0,
            0.5 * size[0].hypot(size[1]),
            &["left", "corners", "top"],
        )
    }

    pub(crate) fn disc(&mut self) -> PileObject {
        let radius = self.between(0.05, 0.2);
        let edge = radius / self.between(1.5, 4.0);
        let keys = format!("kind = \"cloth-disc\"\nradius = {radius:.3}\nedge = {edge:.4}");
        PileObject::centred(keys, 0.0, radius, &["rim", "centre"])
    }

    /// A rod, a ring, a coil or a knot; thin or thick, coarse or fine.
    pub(crate) fn rods(&mut self) -> PileObject {
        let (length, vertices) = (self.between(0.1, 0.5), 3 + self.choices.below(40));
        let radius = self.log_uniform(1e-4, 1e-2);
        let common = format!("vertices = {vertices}\nradius = {radius:.3e}");
        let (keys, half, reach) = match self.choices.below(4) {
            0 => {
                let ring = 0.3 * length;
                let keys = format!("kind = \"rod-ring\"\nring_radius = {ring:.4}\n{common}");
                (keys, radius, ring)
            }
            1 => {
                let (around, pitch) = (0.1 * length, 3.0 * radius);
                let keys = format!(
                    "kind = \"rod-helix\"\nhelix_radius = {around:.4}\npitch = {pitch:.4e}\n\
                        length = {length:.4}\n{common}"
                );
                (keys, length, length)
            }
            2 => {
                let radius = length / 100.0;
                let keys = format!(
                    "kind = \"reef-knot\"\nlength = {length:.4}\nvertices = 80\n\
                        radius = {radius:.4e}"
                );
                (keys, 5.0 * radius, length)
            }
            _ => {
                let keys = format!("kind = \"rod\"\nlength = {length:.4}\n{common}");
                (keys, radius, length)
            }
        };
        let groups: &[&str] = if keys.contains("ring") {
            &[]
        } else {
            &["ends"]
        };
        PileObject::centred(keys, half, reach, groups)
    }

    fn sizes(&mut self) -> [f64; 3] {
        [0, 1, 2].map(|_| self.log_uniform(SIZES[0], SIZES[1]))
    }

    pub(crate) fn soft_box(&mut self) -> PileObject {
        let size = self.sizes();
        let cells = [0, 1, 2].map(|_| 1 + self.choices.below(3));
        let keys = format!(
            "kind = \"solid-box\"\nsize = {}\ncells = {cells:?}",
            vector(size)
        );
        let groups = &["left", "top", "bottom"];
        PileObject::centred(keys, 0.5 * size[2], half_diagonal(size), groups)
    }

    pub(crate) fn soft_ball(&mut self) -> PileObject {
        let radius = 0.5 * self.log_uniform(SIZES[0], SIZES[1]);
        let keys = format!(
            "kind = \"solid-ball\"\nradius = {radius:.4}\nedge = {:.4}",
            radius / 1.7
        );
        PileObject::centred(keys, radius, radius, &["centre", "surface"])
    }

    pub(crate) fn embedded(&mut self) -> PileObject {
        let size = self.sizes();
        let cells = 1 + self.choices.below(3);
        let (surface, half, reach) = if self.choices.one_in(2) {
            let surface = format!(
                "kind = \"box\", size = {}, edge = {:.4}",
                vector(size),
                size[0]
            );
            (surface, 0.5 * size[2], half_diagonal(size))
        } else {
            let radius = 0.5 * size[0];
            let surface = format!("kind = \"sphere\", radius = {radius:.4e}, edge = {radius:.4}");
            (surface, radius, radius)
        };
        let keys = format!("kind = \"embedded\"\nsurface = {{ {surface} }}\ncells = {cells}");
        PileObject::centred(keys, half, reach, &[])
    }

    pub(crate) fn rigid(&mut self) -> PileObject {
        let size = self.sizes();
        let (shape, half) = self.simple_shape(size);
        let mass = self.log_uniform(1e-4, 1e2);
        let keys = format!("kind = \"rigid\"\nshape = {{ {shape} }}\nmass = {mass:.3e}");
        let mut object = PileObject::centred(keys, half, half_diagonal(size), &[]);
        if self.is_explicit {
            let rigidity = self.log_uniform(1e3, 1e6);
            let _ = write!(object.keys, "\nrigidity = {rigidity:.3e}");
        }
        if self.choices.one_in(2) {
            let count = [0, 1, 2].map(|_| 1 + self.choices.below(3));
            let apart = 1.0 + self.log_uniform(1e-5, 0.1);
            let (across, up) = (2.0 * object.reach * apart, 2.0 * half * apart);
            let _ = write!(
                object.keys,
                "\ncopies = {{ array = {{ count = {count:?}, spacing = {} }} }}",
                vector([across, across, up])
            );
            object.above += up * (count[2] - 1) as f64;
            object.reach += object.above;
        }
        object
    }

    /// A shape of props and colliders with at most this size, and half its height.
    fn simple_shape(&mut self, size: [f64; 3]) -> (String, f64) {
        let radius = 0.5 * size[0].min(size[1]);
        let edge = size[0].min(size[1]).min(size[2]);
        match self.choices.below(4) {
            0 => (
                format!("kind = \"sphere\", radius = {radius:.4e}, edge = {radius:.4e}"),
                radius,
            ),
            1 => {
                let shape = format!(
                    "kind = \"cylinder\", radius = {radius:.4e}, length = {:.4e}, \
                        edge = {edge:.4e}",
                    size[2]
                );
                (shape, 0.5 * size[2])
            }
            2 => {
                let radius = 0.4 * edge;
                let shape = format!(
                    "kind = \"capsule\", radius = {radius:.4e}, length = {:.4e}, edge = {edge:.4e}",
                    size[2] - 2.0 * radius
                );
                (shape, 0.5 * size[2])
            }
            _ => (
                format!("kind = \"box\", size = {}", vector(size)),
                0.5 * size[2],
            ),
        }
    }

    /// An exact collider.
    pub(crate) fn exact_collider(&mut self) -> PileObject {
        let size = self.sizes();
        if self.choices.one_in(4) {
            let radius = 0.5 * size[0];
            let keys = format!(
                "kind = \"cone\"\nradius = {radius:.4e}\nheight = {:.4e}\nedge = {radius:.4}",
                size[2]
            );
            let mut object = PileObject::centred(keys, 0.0, radius.hypot(size[2]), &[]);
            object.above = size[2];
            return object;
        }
        let (shape, half) = self.simple_shape(size);
        // One key per line; commas inside of vectors stay.
        let keys = shape.replace(", size = ", "\nsize = ");
        let keys = keys
            .replace(", radius", "\nradius")
            .replace(", length", "\nlength");
        let keys = keys.replace(", edge", "\nedge");
        PileObject::centred(keys, half, half_diagonal(size), &[])
    }

    /// A collider with a triangle mesh.
    pub(crate) fn mesh_collider(&mut self) -> PileObject {
        let size = self.log_uniform(SIZES[0], SIZES[1]);
        let (keys, below, above) = match self.choices.below(3) {
            0 => {
                let keys = format!(
                    "kind = \"funnel\"\ntop_radius = {size:.4e}\nbottom_radius = {:.4e}\n\
                        height = {size:.4e}\nwall = {:.4e}\nedge = {:.4e}",
                    0.3 * size,
                    0.05 * size,
                    0.4 * size
                );
                (keys, 0.5 * size, 0.5 * size)
            }
            1 => {
                let (tread, rise) = (0.4 * size, 0.2 * size);
                let keys = format!(
                    "kind = \"stairs\"\nsteps = 3\ntread = {tread:.4e}\nrise = {rise:.4e}\n\
                        width = {size:.4e}"
                );
                (keys, 0.0, 0.6 * size)
            }
            _ => {
                let (radius, head) = (0.05 * size, 0.15 * size);
                let keys = format!(
                    "kind = \"nail\"\nradius = {radius:.4e}\nlength = {size:.4e}\n\
                        head_radius = {head:.4e}\nhead_thickness = {radius:.4e}\nedge = {head:.4e}"
                );
                (keys, 0.0, size + radius)
            }
        };
        PileObject {
            keys,
            below,
            above,
            reach: 1.6 * size,
            groups: &[],
        }
    }
}

fn half_diagonal(size: [f64; 3]) -> f64 {
    0.5 * size.iter().map(|side| side * side).sum::<f64>().sqrt()
}
