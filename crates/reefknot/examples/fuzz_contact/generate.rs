//! Generates small scenes with extreme contact, as text: a pile of a few objects, most with extreme
//! motions.

use std::fmt::Write;

use crate::choices::Choices;
use crate::objects::PileObject;

/// A scene under construction.
pub(crate) struct Draft {
    pub(crate) choices: Choices,
    text: String,
    /// Time step, and duration of the scene (s).
    h: f64,
    duration: f64,
    /// Whether the integrator is explicit: then stiff materials would need shorter steps than
    /// these.
    pub(crate) is_explicit: bool,
    /// Whether rods may be in the pile.
    has_rods: bool,
    /// Height of the pile (m).
    height: f64,
    /// Names of all objects.
    names: Vec<String>,
}

/// Scenes from this seed on have rods; those of lower seeds stay as they were before rods.
const FIRST_SEED_WITH_RODS: u64 = 10_000;

/// The scene of a seed.
pub(crate) fn scene(seed: u64) -> String {
    let mut choices = Choices::of_case(seed, 0);
    let is_explicit = choices.one_in(5);
    let h = if is_explicit {
        log_uniform(&mut choices, 2e-5, 2e-4)
    } else {
        log_uniform(&mut choices, 1e-4, 4e-2)
    };
    let steps = 10 + choices.below(21);
    let mut draft = Draft {
        choices,
        text: String::new(),
        h,
        duration: h * steps as f64,
        is_explicit,
        has_rods: seed >= FIRST_SEED_WITH_RODS,
        height: 0.0,
        names: Vec::new(),
    };
    draft.head();
    if !draft.choices.one_in(5) {
        draft.floor();
    }
    for number in 0..2 + draft.choices.below(5) {
        draft.add_object(number);
    }
    draft.contact();
    draft.text
}

/// A log-uniform number.
fn log_uniform(choices: &mut Choices, low: f64, high: f64) -> f64 {
    choices.0.between(low.ln(), high.ln()).exp()
}

pub(crate) fn vector(v: [f64; 3]) -> String {
    format!("[{:.4e}, {:.4e}, {:.4e}]", v[0], v[1], v[2])
}

impl Draft {
    pub(crate) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        log_uniform(&mut self.choices, low, high)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.choices.0.between(low, high)
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn direction(&mut self, length: f64) -> [f64; 3] {
        // Straight down, into the pile, is the hardest direction.
        if self.choices.one_in(3) {
            [0.0, 0.0, -length]
        } else {
            (self.choices.0.unit_vector() * length).to_array()
        }
    }

    /// Time, method and gravity.
    fn head(&mut self) {
        let gravity = self.choices.pick(&[
            "[0, 0, -9.81]",
            "[0, 0, -9.81]",
            "[0, 0, 0]",
            "[30, 0, -1e3]",
        ]);
        let line = format!("gravity = {gravity}");
        self.line(&line);
        // Half a step less: the number of steps is rounded up.
        let duration = self.duration - 0.5 * self.h;
        let rate = 1.0 / self.h;
        let time =
            format!("time = {{ duration = {duration:e}, frame_rate = {rate:e}, substeps = 1 }}");
        self.line(&time);
        let is_newton = self.choices.one_in(2);
        let (iterations, halvings) = (self.choices.size(8), self.choices.below(7));
        let integrator = match (self.is_explicit, is_newton) {
            (true, _) => "\"symplectic-euler\"".to_owned(),
            (_, true) => format!("{{ kind = \"newton\", iterations = {iterations} }}"),
            (_, false) => "\"linear-euler\"".to_owned(),
        };
        let tolerance = self.log_uniform(1e-9, 1e-4);
        let is_static = !self.is_explicit && self.choices.one_in(12);
        let method = format!(
            "method = {{ integrator = {integrator}, halvings = {halvings}, \
                tolerance = {tolerance:.2e}, quasi_static = {is_static} }}"
        );
        self.line(&method);
    }

    /// A floor below the pile.
    fn floor(&mut self) {
        self.line("[collider.floor]");
        match self.choices.below(6) {
            0 => self.line("kind = \"box\"\nsize = [1, 1, 0.1]\nposition = [0, 0, -0.05]"),
            1 => self
                .line("kind = \"cylinder\"\nradius = 0.3\nlength = 0.1\nposition = [0, 0, -0.05]"),
            _ => self.line("kind = \"plane\""),
        }
        if self.choices.one_in(4) {
            self.motion(0.1);
        }
        self.surface(0.1);
        self.names.push("floor".to_owned());
    }

    /// Puts an object on the pile.
    fn add_object(&mut self, number: usize) {
        let name = format!("t{number}");
        let kind = self.choices.below(if self.has_rods { 22 } else { 16 });
        let mut object = match kind {
            16..22 => self.rods(),
            0..4 => self.cloth(),
            4 => self.disc(),
            5 => self.soft_box(),
            6 => self.soft_ball(),
            7 => self.embedded(),
            8..11 => self.rigid(),
            11..14 => self.exact_collider(),
            _ => self.mesh_collider(),
        };
        let is_collider = (11..16).contains(&kind);
        if !is_collider {
            self.material(number);
        }
        let table = if is_collider { "collider" } else { "object" };
        let _ = writeln!(self.text, "[{table}.{name}]\n{}", object.keys);
        if !object.keys.contains("copies") && self.choices.one_in(4) {
            let (axis, angle) = (self.direction(1.0), self.between(-4.0, 4.0));
            let rotation = format!(
                "rotation = {{ axis = {}, angle = {angle:.3} }}",
                vector(axis)
            );
            self.line(&rotation);
            (object.below, object.above) = (object.reach, object.reach);
        }
        // Rarely, it starts inside the object below it.
        let gap = if self.choices.one_in(25) {
            -1e-3
        } else {
            self.log_uniform(1e-5, 3e-2)
        };
        let z = self.height + object.below + gap;
        let place = [self.between(-0.05, 0.05), self.between(-0.05, 0.05), z];
        let position = format!("position = {}", vector(place));
        self.line(&position);
        self.height = z + object.above;
        let is_prescribed = is_collider || self.choices.one_in(20);
        if !is_collider {
            let _ = writeln!(self.text, "material = \"m{number}\"");
        }
        if is_prescribed {
            self.motion(z);
        } else {
            self.initial_velocity();
        }
        self.surface(object.reach);
        if !is_prescribed && self.choices.one_in(3) {
            self.pin(&name, &object, place);
        }
        self.names.push(name);
    }

    /// Initial velocities of a simulated object.
    fn initial_velocity(&mut self) {
        if self.choices.one_in(3) {
            let speed = self.log_uniform(0.01, 100.0);
            let velocity = format!("velocity = {}", vector(self.direction(speed)));
            self.line(&velocity);
        }
        if self.choices.one_in(6) {
            let speed = self.log_uniform(0.1, 1000.0);
            let velocity = format!("angular_velocity = {}", vector(self.direction(speed)));
            self.line(&velocity);
        }
    }

    /// A prescribed motion, for an object at a height above the floor.
    fn motion(&mut self, height: f64) {
        let when = self.between(0.0, 0.7) * self.duration;
        let parts = match self.choices.below(9) {
            0 | 1 => {
                let far = self.log_uniform(1e-3, 1.0);
                let place = vector(self.direction(far));
                format!(
                    "keyframes = [{{ time = 0 }}, {{ time = {when:.4e} }}, {{ time = {:.4e}, \
                        position = {place} }}]",
                    when + 1e-3
                )
            }
            2 | 3 => {
                let (long, part) = (
                    self.between(0.02, 1.0) * self.duration,
                    self.between(0.5, 1.2),
                );
                let place = vector([0.0, 0.0, -part * height]);
                format!("keyframes = [{{ time = 0 }}, {{ time = {long:.4e}, position = {place} }}]")
            }
            4 => {
                let speed = self.log_uniform(1.0, 1000.0);
                format!("angular_velocity = {}", vector(self.direction(speed)))
            }
            5 => {
                let speed = self.log_uniform(0.01, 50.0);
                format!("velocity = {}", vector(self.direction(speed)))
            }
            6 => {
                let (far, frequency) = (self.log_uniform(1e-3, 0.1), self.log_uniform(1.0, 1000.0));
                let way = vector(self.direction(far));
                format!("oscillation = {{ amplitude = {way}, frequency = {frequency:.3e} }}")
            }
            7 => {
                let (turn, speed) = (self.log_uniform(1.0, 1000.0), self.log_uniform(0.01, 50.0));
                let (turn, way) = (vector(self.direction(turn)), vector(self.direction(speed)));
                format!("angular_velocity = {turn}, velocity = {way}")
            }
            _ => return,
        };
        let _ = writeln!(self.text, "motion = {{ {parts} }}");
    }

    /// A pin that holds or drags a part of an object.
    fn pin(&mut self, name: &str, object: &PileObject, place: [f64; 3]) {
        let at = match object.groups {
            [] => {
                let normal = vector(self.direction(1.0));
                format!("side = {{ point = {}, normal = {normal} }}", vector(place))
            }
            groups => format!("group = \"{}\"", self.choices.pick(groups)),
        };
        let _ = writeln!(
            self.text,
            "[pin.{name}]\nobject = \"{name}\"\nat = {{ {at} }}"
        );
        if !self.choices.one_in(3) {
            self.motion(place[2]);
        }
        if self.choices.one_in(3) {
            let when = self.between(0.0, 1.0) * self.duration;
            let _ = writeln!(self.text, "release = {when:.4e}");
        }
    }

    /// Contact properties of an object of a given size.
    fn surface(&mut self, size: f64) {
        let properties = self.contact_properties(size);
        let _ = writeln!(self.text, "contact = {{ {properties} }}");
    }

    fn contact_properties(&mut self, size: f64) -> String {
        let friction = self.choices.pick(&["0", "0.3", "1", "10"]);
        let restitution = self.choices.pick(&["0", "0", "0.5", "1"]);
        let cohesion = self.choices.pick(&["0", "0", "0", "1e-3", "10"]);
        let compliance = self.choices.pick(&["0", "0", "0", "1e-6", "1e-2"]);
        let thickness = match self.choices.below(8) {
            0 => 0.0,
            1 => self.log_uniform(1e-9, 1e-5) * size,
            _ => self.log_uniform(1e-4, 0.1) * size,
        };
        format!(
            "friction = {friction}, thickness = {thickness:.3e}, restitution = {restitution}, \
                cohesion = {cohesion}, compliance = {compliance}"
        )
    }

    /// The table `contact`, with a pair in some scenes.
    fn contact(&mut self) {
        let level = if self.choices.one_in(4) {
            "velocity"
        } else {
            "position"
        };
        let recovery = self.log_uniform(1e-3, 10.0);
        let _ = writeln!(
            self.text,
            "[contact]\nlevel = \"{level}\"\nrecovery = {recovery:.3e}"
        );
        if self.choices.one_in(3) {
            let pair = [0, 1].map(|_| self.names[self.choices.below(self.names.len())].clone());
            let properties = self.contact_properties(0.2);
            let _ = writeln!(
                self.text,
                "pairs = [{{ between = {pair:?}, {properties} }}]"
            );
        }
    }
}
