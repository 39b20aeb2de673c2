//! Makes small scenes that abuse contact, as text: a pile of a few things, most of which move in ways that nobody would build.

use std::fmt::Write;

use crate::choices::Choices;
use crate::things::Thing;

/// A scene while it is made.
pub(crate) struct Draft {
    pub(crate) choices: Choices,
    text: String,
    /// The time step (s), and the whole time.
    h: f64,
    duration: f64,
    /// Whether forces are those of the start of a step: then stiff things need steps shorter than any here.
    pub(crate) is_explicit: bool,
    /// Whether there are rods among the things.
    has_rods: bool,
    /// Where the next thing of the pile may begin (m).
    height: f64,
    /// Names of all things.
    names: Vec<String>,
}

/// Scenes from this seed on have rods, too; those before are older.
const WITH_RODS: u64 = 10_000;

/// The scene of a seed.
pub(crate) fn scene(seed: u64) -> String {
    let mut choices = Choices::of_case(seed, 0);
    let is_explicit = choices.one_in(5);
    let h = match is_explicit {
        true => log(&mut choices, 2e-5, 2e-4),
        false => log(&mut choices, 1e-4, 4e-2),
    };
    let steps = 10 + choices.below(21);
    let mut draft = Draft {
        choices,
        text: String::new(),
        h,
        duration: h * steps as f64,
        is_explicit,
        has_rods: seed >= WITH_RODS,
        height: 0.0,
        names: Vec::new(),
    };
    draft.head();
    if !draft.choices.one_in(5) {
        draft.floor();
    }
    for number in 0..2 + draft.choices.below(5) {
        draft.thing(number);
    }
    draft.contact();
    draft.text
}

/// A number where each power of ten is as likely.
fn log(choices: &mut Choices, low: f64, high: f64) -> f64 {
    choices.0.between(low.ln(), high.ln()).exp()
}

pub(crate) fn vector(v: [f64; 3]) -> String {
    format!("[{:.4e}, {:.4e}, {:.4e}]", v[0], v[1], v[2])
}

impl Draft {
    pub(crate) fn log(&mut self, low: f64, high: f64) -> f64 {
        log(&mut self.choices, low, high)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.choices.0.between(low, high)
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn direction(&mut self, length: f64) -> [f64; 3] {
        // Straight down is worse than anything else.
        match self.choices.one_in(3) {
            true => [0.0, 0.0, -length],
            false => (self.choices.0.unit_vector() * length).to_array(),
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
        // Half a step less, which is rounded up.
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
        let tolerance = self.log(1e-9, 1e-4);
        let is_static = !self.is_explicit && self.choices.one_in(12);
        let method = format!(
            "method = {{ integrator = {integrator}, halvings = {halvings}, tolerance = {tolerance:.2e}, quasi_static = {is_static} }}"
        );
        self.line(&method);
    }

    /// What everything falls on, most often.
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
        self.touches(0.1);
        self.names.push("floor".to_owned());
    }

    /// Puts something on the pile.
    fn thing(&mut self, number: usize) {
        let name = format!("t{number}");
        let kind = self.choices.below(if self.has_rods { 22 } else { 16 });
        let mut thing = match kind {
            16..22 => self.rods(),
            0..4 => self.cloth(),
            4 => self.disc(),
            5 => self.soft_box(),
            6 => self.soft_ball(),
            7 => self.embedded(),
            8..11 => self.rigid(),
            11..14 => self.exact(),
            _ => self.by_triangles(),
        };
        let is_collider = (11..16).contains(&kind);
        if !is_collider {
            self.material(number);
        }
        let table = if is_collider { "collider" } else { "object" };
        let _ = writeln!(self.text, "[{table}.{name}]\n{}", thing.keys);
        if !thing.keys.contains("copies") && self.choices.one_in(4) {
            let (axis, angle) = (self.direction(1.0), self.between(-4.0, 4.0));
            let rotation = format!(
                "rotation = {{ axis = {}, angle = {angle:.3} }}",
                vector(axis)
            );
            self.line(&rotation);
            (thing.below, thing.above) = (thing.reach, thing.reach);
        }
        // Now and then it starts inside what is below it.
        let gap = match self.choices.one_in(25) {
            true => -1e-3,
            false => self.log(1e-5, 3e-2),
        };
        let z = self.height + thing.below + gap;
        let place = [self.between(-0.05, 0.05), self.between(-0.05, 0.05), z];
        let position = format!("position = {}", vector(place));
        self.line(&position);
        self.height = z + thing.above;
        let is_told = is_collider || self.choices.one_in(20);
        if !is_collider {
            let _ = writeln!(self.text, "material = \"m{number}\"");
        }
        match is_told {
            true => self.motion(z),
            false => self.start(),
        }
        self.touches(thing.reach);
        if !is_told && self.choices.one_in(3) {
            self.pin(&name, &thing, place);
        }
        self.names.push(name);
    }

    /// How a simulated thing moves at the start.
    fn start(&mut self) {
        if self.choices.one_in(3) {
            let speed = self.log(0.01, 100.0);
            let velocity = format!("velocity = {}", vector(self.direction(speed)));
            self.line(&velocity);
        }
        if self.choices.one_in(6) {
            let speed = self.log(0.1, 1000.0);
            let velocity = format!("angular_velocity = {}", vector(self.direction(speed)));
            self.line(&velocity);
        }
    }

    /// A motion that is told, for a thing at some height over the floor.
    fn motion(&mut self, height: f64) {
        let when = self.between(0.0, 0.7) * self.duration;
        let parts = match self.choices.below(9) {
            0 | 1 => {
                let far = self.log(1e-3, 1.0);
                let place = vector(self.direction(far));
                format!(
                    "keyframes = [{{ time = 0 }}, {{ time = {when:.4e} }}, {{ time = {:.4e}, position = {place} }}]",
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
                let speed = self.log(1.0, 1000.0);
                format!("angular_velocity = {}", vector(self.direction(speed)))
            }
            5 => {
                let speed = self.log(0.01, 50.0);
                format!("velocity = {}", vector(self.direction(speed)))
            }
            6 => {
                let (far, frequency) = (self.log(1e-3, 0.1), self.log(1.0, 1000.0));
                let way = vector(self.direction(far));
                format!("oscillation = {{ amplitude = {way}, frequency = {frequency:.3e} }}")
            }
            7 => {
                let (turn, speed) = (self.log(1.0, 1000.0), self.log(0.01, 50.0));
                let (turn, way) = (vector(self.direction(turn)), vector(self.direction(speed)));
                format!("angular_velocity = {turn}, velocity = {way}")
            }
            _ => return,
        };
        let _ = writeln!(self.text, "motion = {{ {parts} }}");
    }

    /// A pin that holds or drags a part of a thing.
    fn pin(&mut self, name: &str, thing: &Thing, place: [f64; 3]) {
        let at = match thing.groups {
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

    /// How a thing of some size touches others.
    fn touches(&mut self, size: f64) {
        let values = self.values(size);
        let _ = writeln!(self.text, "contact = {{ {values} }}");
    }

    fn values(&mut self, size: f64) -> String {
        let friction = self.choices.pick(&["0", "0.3", "1", "10"]);
        let restitution = self.choices.pick(&["0", "0", "0.5", "1"]);
        let cohesion = self.choices.pick(&["0", "0", "0", "1e-3", "10"]);
        let compliance = self.choices.pick(&["0", "0", "0", "1e-6", "1e-2"]);
        let thickness = match self.choices.below(8) {
            0 => 0.0,
            1 => self.log(1e-9, 1e-5) * size,
            _ => self.log(1e-4, 0.1) * size,
        };
        format!(
            "friction = {friction}, thickness = {thickness:.3e}, restitution = {restitution}, cohesion = {cohesion}, compliance = {compliance}"
        )
    }

    /// What holds for all contacts, and for some pairs.
    fn contact(&mut self) {
        let level = match self.choices.one_in(4) {
            true => "velocity",
            false => "position",
        };
        let recovery = self.log(1e-3, 10.0);
        let _ = writeln!(
            self.text,
            "[contact]\nlevel = \"{level}\"\nrecovery = {recovery:.3e}"
        );
        if self.choices.one_in(3) {
            let pair = [0, 1].map(|_| self.names[self.choices.below(self.names.len())].clone());
            let values = self.values(0.2);
            let _ = writeln!(self.text, "pairs = [{{ between = {pair:?}, {values} }}]");
        }
    }
}
