//! What the pile of an abused scene is made of, as text: cloth, rods, soft solids, props and colliders, of any material.

use std::fmt::Write;

use crate::abuse::{Draft, vector};

/// Sizes of things (m).
const SIZES: [f64; 2] = [0.05, 0.25];

/// Something to be put on the pile.
pub(crate) struct Thing {
    pub(crate) keys: String,
    /// How far it reaches below and above its origin, and any way it is turned (m).
    pub(crate) below: f64,
    pub(crate) above: f64,
    pub(crate) reach: f64,
    /// Groups that can be pinned.
    pub(crate) groups: &'static [&'static str],
}

impl Thing {
    /// One that is centred at its origin.
    fn centred(keys: String, half: f64, reach: f64, groups: &'static [&'static str]) -> Thing {
        Thing {
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
        let (stiffest, lightest) = match self.is_explicit {
            true => (3e4, 100.0),
            false => (1e9, 1.0),
        };
        let (young, density) = (self.log(1e3, stiffest), self.log(lightest, 1e6));
        let (poisson, thickness) = (self.between(0.0, 0.49), self.log(1e-4, 5e-3));
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
            "[material.m{number}]\nyoung = {young:.3e}\npoisson = {poisson:.3}\nthickness = {thickness:.3e}\ndensity = {density:.3e}\n\
             membrane_model = \"{membrane}\"\nbending_model = \"{bending}\"\nsolid_model = \"{solid}\"\ndamping = {damping}"
        );
        self.line(&material);
    }

    pub(crate) fn cloth(&mut self) -> Thing {
        let size = [0, 1].map(|_| self.between(0.1, 0.4));
        let vertices = [0, 1].map(|_| 3 + self.choices.below(7));
        let triangles = self.choices.pick(&["right", "alternating", "unstructured"]);
        let keys = format!(
            "kind = \"cloth-grid\"\nsize = [{:.3}, {:.3}]\nvertices = {vertices:?}\ntriangles = \"{triangles}\"",
            size[0], size[1]
        );
        Thing::centred(
            keys,
            0.0,
            0.5 * size[0].hypot(size[1]),
            &["left", "corners", "top"],
        )
    }

    pub(crate) fn disc(&mut self) -> Thing {
        let radius = self.between(0.05, 0.2);
        let edge = radius / self.between(1.5, 4.0);
        let keys = format!("kind = \"cloth-disc\"\nradius = {radius:.3}\nedge = {edge:.4}");
        Thing::centred(keys, 0.0, radius, &["rim", "centre"])
    }

    /// A rod, a ring, a coil or a knot; thin or thick, coarse or fine.
    pub(crate) fn rods(&mut self) -> Thing {
        let (length, vertices) = (self.between(0.1, 0.5), 3 + self.choices.below(40));
        let radius = self.log(1e-4, 1e-2);
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
                    "kind = \"rod-helix\"\nhelix_radius = {around:.4}\npitch = {pitch:.4e}\nlength = {length:.4}\n{common}"
                );
                (keys, length, length)
            }
            2 => {
                let radius = length / 100.0;
                let keys = format!(
                    "kind = \"reef-knot\"\nlength = {length:.4}\nvertices = 80\nradius = {radius:.4e}"
                );
                (keys, 5.0 * radius, length)
            }
            _ => {
                let keys = format!("kind = \"rod\"\nlength = {length:.4}\n{common}");
                (keys, radius, length)
            }
        };
        let groups: &[&str] = match keys.contains("ring") {
            true => &[],
            false => &["ends"],
        };
        Thing::centred(keys, half, reach, groups)
    }

    fn sizes(&mut self) -> [f64; 3] {
        [0, 1, 2].map(|_| self.log(SIZES[0], SIZES[1]))
    }

    pub(crate) fn soft_box(&mut self) -> Thing {
        let size = self.sizes();
        let cells = [0, 1, 2].map(|_| 1 + self.choices.below(3));
        let keys = format!(
            "kind = \"solid-box\"\nsize = {}\ncells = {cells:?}",
            vector(size)
        );
        let groups = &["left", "top", "bottom"];
        Thing::centred(keys, 0.5 * size[2], half_diagonal(size), groups)
    }

    pub(crate) fn soft_ball(&mut self) -> Thing {
        let radius = 0.5 * self.log(SIZES[0], SIZES[1]);
        let keys = format!(
            "kind = \"solid-ball\"\nradius = {radius:.4}\nedge = {:.4}",
            radius / 1.7
        );
        Thing::centred(keys, radius, radius, &["centre", "surface"])
    }

    pub(crate) fn embedded(&mut self) -> Thing {
        let size = self.sizes();
        let cells = 1 + self.choices.below(3);
        let (surface, half, reach) = match self.choices.one_in(2) {
            true => {
                let surface = format!(
                    "kind = \"box\", size = {}, edge = {:.4}",
                    vector(size),
                    size[0]
                );
                (surface, 0.5 * size[2], half_diagonal(size))
            }
            false => {
                let radius = 0.5 * size[0];
                let surface =
                    format!("kind = \"sphere\", radius = {radius:.4e}, edge = {radius:.4}");
                (surface, radius, radius)
            }
        };
        let keys = format!("kind = \"embedded\"\nsurface = {{ {surface} }}\ncells = {cells}");
        Thing::centred(keys, half, reach, &[])
    }

    pub(crate) fn rigid(&mut self) -> Thing {
        let size = self.sizes();
        let (shape, half) = self.round_or_box(size);
        let mass = self.log(1e-4, 1e2);
        let keys = format!("kind = \"rigid\"\nshape = {{ {shape} }}\nmass = {mass:.3e}");
        let mut thing = Thing::centred(keys, half, half_diagonal(size), &[]);
        if self.is_explicit {
            let rigidity = self.log(1e3, 1e6);
            let _ = write!(thing.keys, "\nrigidity = {rigidity:.3e}");
        }
        if self.choices.one_in(2) {
            let count = [0, 1, 2].map(|_| 1 + self.choices.below(3));
            let apart = 1.0 + self.log(1e-5, 0.1);
            let (across, up) = (2.0 * thing.reach * apart, 2.0 * half * apart);
            let _ = write!(
                thing.keys,
                "\ncopies = {{ array = {{ count = {count:?}, spacing = {} }} }}",
                vector([across, across, up])
            );
            thing.above += up * (count[2] - 1) as f64;
            thing.reach += thing.above;
        }
        thing
    }

    /// A shape that both props and colliders have, of at most this size, and half its height.
    fn round_or_box(&mut self, size: [f64; 3]) -> (String, f64) {
        let radius = 0.5 * size[0].min(size[1]);
        let edge = size[0].min(size[1]).min(size[2]);
        match self.choices.below(4) {
            0 => (
                format!("kind = \"sphere\", radius = {radius:.4e}, edge = {radius:.4e}"),
                radius,
            ),
            1 => {
                let shape = format!(
                    "kind = \"cylinder\", radius = {radius:.4e}, length = {:.4e}, edge = {edge:.4e}",
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

    /// A collider with a formula.
    pub(crate) fn exact(&mut self) -> Thing {
        let size = self.sizes();
        if self.choices.one_in(4) {
            let radius = 0.5 * size[0];
            let keys = format!(
                "kind = \"cone\"\nradius = {radius:.4e}\nheight = {:.4e}\nedge = {radius:.4}",
                size[2]
            );
            let mut thing = Thing::centred(keys, 0.0, radius.hypot(size[2]), &[]);
            thing.above = size[2];
            return thing;
        }
        let (shape, half) = self.round_or_box(size);
        // Not inside of a list of three.
        let keys = shape.replace(", size = ", "\nsize = ");
        let keys = keys
            .replace(", radius", "\nradius")
            .replace(", length", "\nlength");
        let keys = keys.replace(", edge", "\nedge");
        Thing::centred(keys, half, half_diagonal(size), &[])
    }

    /// A collider that is met by its triangles.
    pub(crate) fn by_triangles(&mut self) -> Thing {
        let size = self.log(SIZES[0], SIZES[1]);
        let (keys, below, above) = match self.choices.below(3) {
            0 => {
                let keys = format!(
                    "kind = \"funnel\"\ntop_radius = {size:.4e}\nbottom_radius = {:.4e}\nheight = {size:.4e}\nwall = {:.4e}\nedge = {:.4e}",
                    0.3 * size,
                    0.05 * size,
                    0.4 * size
                );
                (keys, 0.5 * size, 0.5 * size)
            }
            1 => {
                let (tread, rise) = (0.4 * size, 0.2 * size);
                let keys = format!(
                    "kind = \"stairs\"\nsteps = 3\ntread = {tread:.4e}\nrise = {rise:.4e}\nwidth = {size:.4e}"
                );
                (keys, 0.0, 0.6 * size)
            }
            _ => {
                let (radius, head) = (0.05 * size, 0.15 * size);
                let keys = format!(
                    "kind = \"nail\"\nradius = {radius:.4e}\nlength = {size:.4e}\nhead_radius = {head:.4e}\nhead_thickness = {radius:.4e}\nedge = {head:.4e}"
                );
                (keys, 0.0, size + radius)
            }
        };
        Thing {
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
