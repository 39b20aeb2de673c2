//! Scenes to start from: the shipped ones, and some that use what those do not.

use std::collections::BTreeSet;

use reefknot::scene::shipped;
use reefknot_contact::solve::options::OptionValue;
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};

/// A scene to start from.
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Every key of the tables, with values that a user would write.
const EVERY_KEY: &str = r#"title = "Every key"
seed = 3
gravity = [0, 0, "-9.81 m/s^2"]

[parameters]
n = 5
width = "40 cm"
half = "= $width / 2"

[time]
duration = "0.5 s"
frame_rate = 24
substeps = 2
start_frame = 1001

[method]
integrator = "linear-euler"
solver = "none"

[material.plate]
young = "2 MPa"
poisson = 0.3
thickness = "0.5 mm"
density = "1200 kg/m^3"
membrane_damping = "1 ms"
bending_damping = "2 ms"
mass_damping = "0.1 1/s"
source = "measured"

[material.woven]
preset = "cotton"
area_density = "150 g/m^2"
membrane = ["1 kN/m", 500]
bending = "1e-6 N*m"

[object.sheet]
kind = "cloth-grid"
size = ["$width", "$half"]
vertices = ["$n", 4]
triangles = "right"
material = "plate"
position = [0, "10 cm", 1]
rotation = { axis = [1, 1, 0], angle = "30 deg" }
velocity = ["1 m/s", 0, 0]

[object.other]
kind = "cloth-grid"
size = [0.1, 0.2]
vertices = [3, 3]
material = "woven"

[pin.vertices]
object = "sheet"
at = { vertices = [0, 4] }

[pin.group]
object = "other"
at = { group = "corners" }
release = "100 ms"

[pin.box]
object = "sheet"
at = { box = { min = [-1, -1, 0], max = [1, 1, 3] } }

[wind]
velocity = ["5 m/s", 0, 0]
turbulence = "1 m/s"
gust_length = "0.8 m"
density = 1.2
normal_drag = 1.2
tangential_drag = 0.02

[probe.position]
measure = { position = { object = "sheet", vertex = "= $n - 1" } }
reduce = "max"

[probe.displacement]
measure = { displacement = { object = "sheet", vertex = 1 } }

[probe.velocity]
measure = { velocity = { object = "other", vertex = 2 } }

[probe.force]
measure = { pin_force = "group" }

[probe.energy]
measure = { energy = "elastic" }

[probe.stretch]
measure = { max_stretch = "sheet" }

[quick]
"parameters.n" = 3
"time.duration" = "0.1 s"
"object.sheet.vertices.1" = 2
"#;

/// Every kind of object and collider, small, and every key of theirs that the shipped scenes leave out.
const OBJECTS: &str = r#"time.duration = "0.2 s"
[material.stuff]
density = 1000
young = "1 MPa"
thickness = "1 mm"
linear_density = "5 g/m"
axial = "100 N"
rod_bending = ["1e-4 N*m^2", 1e-5]
rod_twist = 1e-5
bending_ratio = 0.5
[object.strip]
kind = "cloth-strip"
length = "30 cm"
width = "5 cm"
segments = 6
triangles = "unstructured"
material = "stuff"
scale = [1, 2, 1]
angular_velocity = [0, 0, "1 rad/s"]
copies = { scatter = { count = 3, min = [0, 0, 0], max = [3, 3, 3], apart = "50 cm", turned = false, seed = 9 } }
contact = { group = "sheets", friction = 0.5, thickness = "2 mm", restitution = 0.1, cohesion = "1 mN", compliance = 1e-6 }
[object.disc]
kind = "cloth-disc"
radius = "10 cm"
edge = "4 cm"
material = "stuff"
[object.box]
kind = "solid-box"
size = [0.1, 0.1, 0.1]
cells = [1, 2, 1]
tetrahedra = "five"
material = "stuff"
copies = { array = { count = [2, 1, 2], spacing = [0.3, 0, "20 cm"] } }
[object.beam]
kind = "solid-beam"
length = 0.3
section = [0.1, 0.05]
cells = 1
tetrahedra = "six"
material = "stuff"
[object.ball]
kind = "solid-ball"
radius = "5 cm"
edge = "4 cm"
material = "stuff"
[object.dome]
kind = "solid-half-ball"
radius = "5 cm"
edge = "4 cm"
material = "stuff"
[object.ring]
kind = "solid-ring"
radius = "10 cm"
tube_radius = "3 cm"
edge = "3 cm"
material = "stuff"
[object.tube]
kind = "solid-tube"
radius = "5 cm"
inner_radius = "3 cm"
length = "10 cm"
edge = "3 cm"
material = "stuff"
[object.rod]
kind = "rod"
length = "20 cm"
vertices = 5
radius = ["2 mm", "1 mm"]
proximity_radius = "3 mm"
material = "stuff"
[object.helix]
kind = "rod-helix"
helix_radius = "2 cm"
pitch = "-1 cm"
length = "30 cm"
vertices = 20
radius = "1 mm"
material = "stuff"
[object.loop]
kind = "rod-ring"
ring_radius = "5 cm"
vertices = 12
radius = "1 mm"
material = "stuff"
[object.spline]
kind = "rod-spline"
points = [[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0.05]]
closed = true
vertices = 9
radius = "1 mm"
material = "stuff"
[object.knot]
kind = "reef-knot"
length = "50 cm"
vertices = 60
radius = "6 mm"
material = "stuff"
[object.hair]
kind = "groom"
on = "cone"
at = { side = { point = [0, 0, -0.01], normal = [0, 0, 1] } }
density = "500 1/m^2"
length = "5 cm"
length_variation = 0.1
vertices = 8
curl_radius = "2 mm"
curl_pitch = "3 cm"
direction = [0, 0, -1]
lean = 0.5
stray = "5 deg"
spacing = "2 mm"
seed = 3
radius = "50 um"
material = "stuff"
[object.embedded]
kind = "embedded"
surface = { kind = "sphere", radius = "5 cm", edge = "3 cm" }
cells = 3
material = "stuff"
[object.rigid]
kind = "rigid"
shape = { kind = "capsule", radius = "2 cm", length = "5 cm", edge = "2 cm" }
mass = "100 g"
motion = { velocity = [0, 0, "1 m/s"], center = [0, 0, 1], oscillation = { amplitude = [0.1, 0, 0], rotation = { angle = "10 deg" }, frequency = "2 Hz", phase = "30 deg" } }
[object.slab]
kind = "rigid"
shape = { kind = "box", size = [0.1, 0.1, "1 cm"] }
material = "stuff"
[object.lawn]
kind = "groom"
on = "ground"
count = 20
length = "5 cm"
vertices = 5
radius = "1 mm"
material = "stuff"
[collider.ground]
kind = "plane"
[collider.cone]
kind = "cone"
radius = "5 cm"
height = "10 cm"
edge = "3 cm"
motion = { start = "50 ms", stop = "0.1 s", interpolation = "smooth", keyframes = [{ time = 0 }, { time = "0.1 s", position = [0, 0, 0.1], rotation = { axis = [1, 0, 0], angle = "2 turn" } }] }
[collider.funnel]
kind = "funnel"
top_radius = "10 cm"
bottom_radius = "3 cm"
height = "10 cm"
wall = "1 cm"
edge = "2 cm"
[collider.stairs]
kind = "stairs"
steps = 2
tread = 0.1
rise = 0.05
width = 0.2
[collider.nail]
kind = "nail"
radius = "2 mm"
length = "5 cm"
head_radius = "5 mm"
head_thickness = "1 mm"
edge = "4 mm"
[pin.side]
object = "disc"
at = { side = { point = [0, 0, 0], normal = [1, 0, 0] } }
start = "10 ms"
motion = { angular_velocity = [0, 0, "1 turn/s"] }
[pin.around]
object = "strip"
at = { sphere = { center = [0, 0, 0], radius = "9 m" } }
[pin.end]
object = "rod"
at = { end = "last" }
free = ["y", "z"]
[clamp.first]
object = "rod"
end = "first"
free = ["x"]
twist = { rate = "1 rad/s", start = 0, stop = "1 s", interpolation = "linear", keyframes = [{ time = 0, angle = 0 }] }
motion = { velocity = ["1 cm/s", 0, 0] }
release = "0.1 s"
[load.tip]
object = "disc"
at = { group = "rim" }
force = [0, 0, "1 mN"]
moment = [0, 0, "1e-4 N*m"]
start = "10 ms"
ramp = "20 ms"
stop = "0.1 s"
[attachment.tie]
object = "disc"
at = { group = "rim" }
to = "box"
reach = "1 m"
stiffness = "10 N/m"
release = "1 s"
[stitch.seam]
from = { object = "strip", at = { group = "left" } }
to = { object = "strip", at = { group = "right" } }
stiffness = "1 kN/m"
length = "1 mm"
close = "0.1 s"
[contact]
level = "velocity"
recovery = "0.2 m/s"
friction = 0.4
restitution = 0.2
cohesion = 0
compliance = 0
pairs = [{ between = ["box", "box"], touch = false }, { between = ["box", "cone"], touch = true, friction = 0.3, thickness = "1 mm", restitution = 0, cohesion = "1 mN", compliance = 0 }]
"#;

/// What is computed in other ways than by default: methods, laws, holds, motions and measurements, on little of each kind.
const DYNAMICS: &str = r#"time = { duration = "0.1 s", h = "5 ms" }
[method]
integrator = { kind = "newton", iterations = 6 }
tolerance = "0.1 mm"
converge = true
quasi_static = false
halvings = 2
[material.rubber]
density = 1000
young = "1 MPa"
poisson = 0.4
thickness = "1 mm"
damping = "1 ms"
membrane_model = "neo-hookean"
bending_model = "plate"
solid_model = "fixed-corotated"
[material.net]
density = 1000
young = "1 MPa"
thickness = "1 mm"
membrane_model = "springs"
bending_model = "hinge"
solid_model = "corotated"
[material.jelly]
density = 1000
young = "10 kPa"
thickness = "1 mm"
membrane_model = "corotated"
solid_model = "neo-hookean"
[object.roll]
kind = "cloth-grid"
size = [0.2, 0.1]
vertices = [5, 3]
roll = "6 cm"
material = "rubber"
[object.net]
kind = "cloth-grid"
size = [0.2, 0.1]
vertices = [4, 3]
material = "net"
[object.curl]
kind = "rod"
length = "20 cm"
vertices = 6
radius = ["2 mm", "1 mm"]
natural_curvature = ["3 1/m", 0]
natural_twist = "2 rad/m"
start_twist = "1 turn"
start_stretch = 1.2
material = "rubber"
[object.band]
kind = "rod-ring"
ring_radius = "5 cm"
vertices = 8
radius = "1 mm"
quasi_static_twist = true
material = "rubber"
[object.beam]
kind = "solid-beam"
length = 0.3
section = [0.1, 0.1]
cells = 1
material = "rubber"
[object.block]
kind = "solid-box"
size = [0.1, 0.1, 0.1]
cells = [1, 1, 1]
material = "net"
[object.toy]
kind = "embedded"
surface = { kind = "sphere", radius = "5 cm", edge = "3 cm" }
cells = 2
material = "jelly"
[object.top]
kind = "rigid"
shape = { kind = "cylinder", radius = "5 cm", length = "2 cm", edge = "3 cm" }
mass = "100 g"
inertia = ["1e-4 kg*m^2", 1e-4, 1.5e-4]
rigidity = "10 MPa"
angular_velocity = [0, 1, "50 rad/s"]
[object.fur]
kind = "groom"
on = "top"
count = 4
length = "2 cm"
vertices = 4
radius = "0.1 mm"
material = "rubber"
[pin.border]
object = "roll"
at = { group = "left" }
clamp = true
[pin.stretch]
object = "beam"
at = { group = "left" }
motion = { deformation = { gradient = [[0.1, 0, 0], [0, 0, 0.2], [0, 0, 0]], ramp = "20 ms" }, center = [0, 0, 0] }
[pin.spindle]
object = "top"
at = { side = { point = [0, 0, 0], normal = [0, 0, 1] } }
start = "10 ms"
motion = { angular_velocity = [0, 0, "1 rad/s"] }
[pin.core]
object = "toy"
at = { side = { point = [0, 0, 0], normal = [0, 0, 1] } }
[load.inflate]
object = "toy"
at = { sphere = { center = [0, 0, 0], radius = 1 } }
pressure = "100 Pa"
[load.torque]
object = "curl"
at = { vertices = [3, 4, 5] }
moment = ["1e-5 N*m", 0, 0]
[attachment.hang]
object = "curl"
at = { end = "first" }
to = "top"
reach = "1 m"
stiffness = "10 N/m"
[stitch.pair]
from = { object = "net", at = { vertices = [0, 1] } }
to = { object = "band", at = { vertices = [0, 1] } }
stiffness = "10 N/m"
close = "50 ms"
[probe.distance]
measure = { distance = { from = { object = "net", vertex = 0 }, to = { object = "band", at = { vertices = [0, 1] } } } }
along = [0, 0, 1]
scale = 2
reduce = "amplitude-ratio"
above = 0.1
[probe.rotation]
measure = { rotation = { of = { object = "top", at = { side = { point = [0, 0, 0], normal = [0, 0, 1] } } }, axis = [0, 0, 1] } }
reduce = "frequency"
[probe.swing]
measure = { swing = { of = { object = "curl", vertex = 5 }, center = [0, 0, 0] } }
reduce = "precession"
[probe.plane]
measure = { out_of_plane = { object = "net", normal = [0, 0, 1] } }
reduce = "period"
[probe.map]
measure = { map_error = { object = "beam", rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] } }
reduce = "per-step"
[probe.momentum]
measure = { momentum_drift = "angular" }
reduce = "first"
[probe.linear]
measure = { momentum_drift = "linear" }
[probe.push]
measure = { contact_force = { object = "top", other = "beam" } }
reduce = "max-change"
from = "20 ms"
until = "90 ms"
factor = 2
offset = -1
[probe.touching]
measure = { contacts = { object = "net" } }
reduce = "when-above"
threshold = 0.5
[probe.gap]
measure = { gap = { object = "net", other = "net" } }
reduce = "when-below"
threshold = "= 1e-4"
[probe.pull]
measure = { contact_force = { object = "net" } }
along = [0, 0, 1]
reduce = "change"
"#;

/// Meshes from files.
const MESHES: &str = r#"time.duration = "0.2 s"
[material.stuff]
density = 1000
young = "1 MPa"
thickness = "1 mm"
[object.cloth]
kind = "cloth-mesh"
file = "bunny.obj"
unit = "mm"
up = "y"
weld = "1 um"
warp = [0, 1, 0]
material = "stuff"
[object.solid]
kind = "solid-mesh"
file = "bunny_coarse.msh"
material = "stuff"
[object.curves]
kind = "rod-mesh"
file = "curves.obj"
radius = "1 mm"
material = "stuff"
[collider.body]
kind = "mesh"
file = "body.ply"
motion = { sequence = { file = "body.####.ply", first = 3, frame_rate = 30, offset = "1 s", interpolation = "smooth", unit = "cm", up = "y" } }
"#;

/// Every unit, as the value of a parameter.
const UNITS: &str = r#"time = { duration = "2 s", h = "10 ms" }
[parameters]
lengths = ["1 m", "2 mm", "3 um", "3 µm", "4 nm", "5 cm", "6 dm", "7 km", "1 in", "2 ft"]
masses = ["1 g", "1 kg", "1 mg", "1 t", "1 lb"]
times = ["1 s", "1 ms", "1 min", "1 h"]
forces = ["1 N", "1 kPa", "1 GPa", "1 bar", "1 J", "1 W", "1 Hz"]
angles = ["1 rad", "90 deg", "0.25 turn"]
textile = ["40 denier", "3 tex", "10 %", "3 1"]
products = ["1 N*m", "1 N·m", "1 kg/m²", "1 kg/m³", "2 kg m/s^2", "1 m^-2"]
thin = "0.2 mm"
[material.sheet]
young = "5 bar"
thickness = "$thin"
density = "1.2 g/cm^3"
[object.cloth]
kind = "cloth-grid"
size = ["1 ft", "12 in"]
vertices = [4, 4]
material = "sheet"
rotation = { axis = [0, 1, 0], angle = "0.25 turn" }
[pin.top]
object = "cloth"
at = { group = "top" }
release = "0.01 min"
"#;

/// Arithmetic of every kind.
const EXPRESSIONS: &str = r#"title = "Expressions"
time = { duration = "= $steps * $h", h = "$h" }
[parameters]
steps = 12
h = "5 ms"
L = "20 cm"
area = "= $L * $L"
side = "= sqrt($area)"
n = "= max(3, min(4, 9 / 2)) + round(0.2) - floor(0.5) + ceil(-0.5)"
turn = "= asin(1) * rad + 2 * pi * rad"
wave = "= sin(30 * deg) + cos(0) * tan(0.1) + acos(1) + atan(1) + exp(1) + ln(2) + abs(-1)"
density = "= 0.15 * kg / m^2"
square = ["$L", "= $side * 2^-1 * 2"]
grid = ["$n", 5]
name = "sheet"
where = { group = "left" }
[material.sheet]
preset = "silk"
area_density = "$density"
membrane = "= 1e3 * N / m"
[object.cloth]
kind = "cloth-grid"
size = "$square"
vertices = "$grid"
material = "$name"
rotation = { angle = "$turn" }
velocity = ["= $wave * m/s", 0, 0]
[pin.edge]
object = "cloth"
at = "$where"
[quick]
"parameters.steps" = 4
"parameters.L" = "10 cm"
"#;

/// Little enough that most mutations hit something that matters.
const SMALL: &str = r#"time.duration = 1
[material.a]
preset = "denim"
[object.a]
kind = "cloth-grid"
size = [1, 1]
vertices = [3, 3]
material = "a"
"#;

/// The files that [`MESHES`] names: two curves, and a tetrahedron that moves.
pub(crate) const FILES: [(&str, &str); 5] = [
    (
        "curves.obj",
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nl 1 2 3\nl 5 4\n",
    ),
    ("body.ply", TETRAHEDRON),
    ("body.0003.ply", TETRAHEDRON),
    ("body.0004.ply", TETRAHEDRON),
    ("body.0005.ply", TETRAHEDRON),
];

const TETRAHEDRON: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
    property float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n\
    0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";

/// Each table of a scene by itself with the head and the tables that it names: a mistake in one of many would hide
/// what happens to the others.
fn one_by_one(scene: &str) -> Vec<Seed> {
    let (head, rest) = scene.split_at(scene.find("[object.").unwrap_or(scene.len()));
    let tables: Vec<(&str, &str)> = rest
        .split("\n[")
        .map(|table| {
            let table = table.trim_start_matches('[');
            let header = table.split(']').next().unwrap_or_default();
            (header, table)
        })
        .collect();
    let named = |table: &str| -> BTreeSet<usize> {
        let names = |header: &str| {
            let name = header.split('.').next_back().unwrap_or(header);
            table.contains(&format!("\"{name}\""))
        };
        let numbered = tables.iter().enumerate();
        numbered
            .filter(|(_, (header, _))| names(header))
            .map(|(number, _)| number)
            .collect()
    };
    let together = |number: usize| {
        let mut chosen = BTreeSet::from([number]);
        loop {
            let mut more = chosen.clone();
            for number in &chosen {
                more.extend(named(tables[*number].1));
            }
            if more == chosen {
                return chosen;
            }
            chosen = more;
        }
    };
    let scene = |number: usize| {
        let chosen = together(number);
        let texts = chosen
            .iter()
            .map(|number| format!("[{}\n", tables[*number].1));
        Seed {
            name: tables[number].0.to_owned(),
            text: format!("{head}{}", texts.collect::<String>()),
        }
    };
    (0..tables.len()).map(scene).collect()
}

/// A small scene with a solver and all its options.
fn with_solver(entry: &SolverEntry) -> Seed {
    let options = entry.options.iter().map(|option| match option.default {
        OptionValue::Flag(flag) => format!(", {} = {flag}", option.name),
        OptionValue::Count(count) => format!(", {} = {count}", option.name),
        OptionValue::Word(word) => format!(", {} = \"{word}\"", option.name),
    });
    let options: String = options.collect();
    Seed {
        name: format!("solver {}", entry.name),
        text: format!(
            "method.solver = {{ kind = \"{}\"{options} }}\n{SMALL}",
            entry.name
        ),
    }
}

/// The scenes that cases are mutated from.
pub(crate) fn seeds() -> Vec<Seed> {
    let own = [
        ("every key", EVERY_KEY),
        ("objects", OBJECTS),
        ("dynamics", DYNAMICS),
        ("meshes", MESHES),
        ("units", UNITS),
        ("expressions", EXPRESSIONS),
        ("small", SMALL),
    ];
    let shipped = shipped::all();
    // Those of validation solve statics to the end, which takes as long as it takes; they have no keys of their own.
    let is_quick = |scene: &&shipped::Shipped| !scene.name.starts_with("validation/");
    let shipped = shipped.iter().filter(is_quick);
    let shipped = shipped.map(|scene| (scene.name, scene.text));
    let whole = own.into_iter().chain(shipped);
    let mut seeds: Vec<Seed> = whole
        .map(|(name, text)| Seed {
            name: name.to_owned(),
            text: text.to_owned(),
        })
        .collect();
    seeds.extend(SOLVERS.iter().map(with_solver));
    seeds.extend(one_by_one(OBJECTS));
    seeds.extend(one_by_one(DYNAMICS));
    seeds.extend(one_by_one(MESHES));
    seeds
}
