//! Scenes to start from: the shipped ones, and some that use what those do not.

use reefknot::scene::shipped;

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

/// The texts that cases are mutated from.
pub(crate) fn seeds() -> Vec<String> {
    let mut seeds: Vec<String> = [EVERY_KEY, UNITS, EXPRESSIONS, SMALL]
        .map(str::to_owned)
        .to_vec();
    for scene in shipped::all() {
        seeds.push(scene.text.to_owned());
    }
    seeds
}
