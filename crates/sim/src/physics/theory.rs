//! Closed forms of mechanics, in SI units, and solutions of one scalar equation. `docs/physics.md`
//! lists the sources of numbers that are not computed here.

use std::f64::consts::TAU;

/// Acceleration of gravity (m/s²).
pub const GRAVITY: f64 = 9.81;

/// Elongation of a bar that hangs under its own weight: ρ g L²/2E.
#[must_use]
pub fn hanging_elongation(density: f64, length: f64, young: f64) -> f64 {
    density * GRAVITY * length.powi(2) / (2.0 * young)
}

/// Sag of a chain of some length between supports at equal height: 2a sinh(span/2a) = length,
/// sag = a (cosh(span/2a) − 1).
#[must_use]
pub fn catenary_sag(length: f64, span: f64) -> f64 {
    let excess = |a: f64| 2.0 * a * (span / (2.0 * a)).sinh() - length;
    let a = bisection(0.05 * span, 1e3 * span, excess);
    a * ((span / (2.0 * a)).cosh() - 1.0)
}

/// First frequency of a clamped beam of circular section: 1.8751² √(EI/ρA)/2πL², I/A = r²/4 (Rao,
/// Vibration of Continuous Systems).
#[must_use]
pub fn round_beam_frequency(young: f64, density: f64, radius: f64, length: f64) -> f64 {
    1.875_104_07_f64.powi(2) * 0.5 * radius * (young / density).sqrt() / (TAU * length.powi(2))
}

/// End rotation at which a round rod between clamps buckles by twist (Love, §272): 2·4.4934·B/C
/// for end clamps, with B/C = 1 + ν for round sections.
#[must_use]
pub fn critical_turn(poisson: f64) -> f64 {
    2.0 * 4.493_409_458 * (1.0 + poisson)
}

/// Twist at which a closed ring buckles (Michell 1889): 2π√3·B/C.
#[must_use]
pub fn michell_twist(poisson: f64) -> f64 {
    TAU * 3.0_f64.sqrt() * (1.0 + poisson)
}

/// Bending stiffness of a plate: E t³/12(1 − ν²).
#[must_use]
pub fn plate_stiffness(young: f64, thickness: f64, poisson: f64) -> f64 {
    young * thickness.powi(3) / (12.0 * (1.0 - poisson.powi(2)))
}

/// Energy of a strip bent to a cylinder, for ν = 0: D·area/2R².
#[must_use]
pub fn cylinder_energy(young: f64, thickness: f64, area: f64, radius: f64) -> f64 {
    plate_stiffness(young, thickness, 0.0) * area / (2.0 * radius.powi(2))
}

/// Energy of a sheet in simple shear γ by St. Venant and Kirchhoff, in plane stress.
#[must_use]
pub fn shear_energy(young: f64, poisson: f64, volume: f64, shear: f64) -> f64 {
    let mu = young / (2.0 * (1.0 + poisson));
    let lambda = young * poisson / (1.0 - poisson.powi(2));
    // Green strain [[0, γ/2], [γ/2, γ²/2]].
    let trace = 0.5 * shear.powi(2);
    let squares = 0.5 * shear.powi(2) + 0.25 * shear.powi(4);
    volume * (mu * squares + 0.5 * lambda * trace.powi(2))
}

/// Length at which a horizontal strip, clamped at one end, buckles sideways under its weight
/// (Timoshenko and Gere, §6.3): q L³ = 12.85 √(EI·GJ), with J = w t³/3 (1 − 0.63 t/w).
#[must_use]
pub fn lateral_buckling_length(young: f64, density: f64, thickness: f64, width: f64) -> f64 {
    let bending = young * width * thickness.powi(3) / 12.0;
    let section = width * thickness.powi(3) / 3.0 * (1.0 - 0.63 * thickness / width);
    let twisting = 0.5 * young * section;
    let load = density * GRAVITY * width * thickness;
    (12.853 * (bending * twisting).sqrt() / load).cbrt()
}

/// Deflection of the tip of a square cantilever (Timoshenko, with the shear coefficient of Cowper
/// 1966).
#[must_use]
pub fn cantilever_tip(length: f64, section: f64, [young, poisson]: [f64; 2], force: f64) -> f64 {
    let inertia = section.powi(4) / 12.0;
    let shear_modulus = young / (2.0 * (1.0 + poisson));
    let coefficient = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson);
    force * length.powi(3) / (3.0 * young * inertia)
        + force * length / (coefficient * shear_modulus * section.powi(2))
}

/// Twist of a square bar (St. Venant): T L/G J with J = 0.140577 a⁴.
#[must_use]
pub fn bar_twist(length: f64, section: f64, [young, poisson]: [f64; 2], torque: f64) -> f64 {
    let shear_modulus = young / (2.0 * (1.0 + poisson));
    torque * length / (shear_modulus * 0.140_577 * section.powi(4))
}

/// First Piola stress and lateral stretch of a neo-Hookean bar with free sides:
/// Ψ = μ/2 (I₁ − 3) − μ ln J + λ/2 ln² J.
#[must_use]
pub fn neo_hookean_bar([young, poisson]: [f64; 2], stretch: f64) -> [f64; 2] {
    let mu = young / (2.0 * (1.0 + poisson));
    let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let pressure = |lateral: f64| lambda * (stretch * lateral.powi(2)).ln();
    let side = |lateral: f64| mu * (lateral - 1.0 / lateral) + pressure(lateral) / lateral;
    let lateral = bisection(0.1, 10.0, side);
    let stress = mu * (stretch - 1.0 / stretch) + pressure(lateral) / stretch;
    [stress, lateral]
}

/// Amplitude ratio of an oscillation by implicit Euler: (1 + (ωh)²)^(−1/2) for each step.
#[must_use]
pub fn implicit_decay(steps_per_period: f64, steps: f64) -> f64 {
    (1.0 + (TAU / steps_per_period).powi(2)).powf(-0.5 * steps)
}

/// Rigid rotation by implicit Euler for some steps of angle ωh at the start: the loss of angular
/// momentum relative to the start, and the total angle.
///
/// Internal forces have no moment at the end of a step, so L₁ = Σ m x₁ × v₀, where v₀ is the chord
/// of the step before; L = Σ m r² sin(θ)/h for a step of angle θ. Hence 2 sin θ₁ = sin(θ₀ + θ₁). In
/// the first step v₀ is a tangent, and tan θ₁ = ωh.
#[must_use]
pub fn implicit_spin(first: f64, steps: u32) -> [f64; 2] {
    let mut angle = first.atan();
    let mut total = angle;
    for _ in 1..steps {
        angle = (angle.sin() / (2.0 - angle.cos())).atan();
        total += angle;
    }
    [1.0 - angle.sin() / first, total]
}

/// Distance and speed on an incline after a time from rest: a = g (sin α − μ cos α).
#[must_use]
pub fn incline_slide(angle_deg: f64, friction: f64, time: f64) -> [f64; 2] {
    let (sin, cos) = angle_deg.to_radians().sin_cos();
    let acceleration = GRAVITY * (sin - friction * cos);
    [0.5 * acceleration * time.powi(2), acceleration * time]
}

/// Distance and time until friction stops a block.
#[must_use]
pub fn stopping(speed: f64, friction: f64) -> [f64; 2] {
    let time = speed / (friction * GRAVITY);
    [0.5 * speed * time, time]
}

/// Ratio of the tensions of a rope around a cylinder (Euler and Eytelwein): exp(μ·angle).
#[must_use]
pub fn capstan_ratio(friction: f64, turns: f64) -> f64 {
    (friction * TAU * turns).exp()
}

/// Friction above which two leaning cards stand: tan(α)/2.
#[must_use]
pub fn cards_friction(half_angle_deg: f64) -> f64 {
    0.5 * half_angle_deg.to_radians().tan()
}

/// Smallest angle of a ladder (degrees): tan α = (1 − μ_floor μ_wall)/2μ_floor.
#[must_use]
pub fn ladder_angle_deg(floor: f64, wall: f64) -> f64 {
    ((1.0 - floor * wall) / (2.0 * floor)).atan().to_degrees()
}

/// Angle at which a block topples (degrees): tan α = width/height.
#[must_use]
pub fn topple_angle_deg(height: f64, width: f64) -> f64 {
    (width / height).atan().to_degrees()
}

/// Time until friction stops a body that spins on the floor: its moment is `arm` μ m g R, the moment
/// of inertia `inertia` m R².
#[must_use]
pub fn spin_stop_time([omega, radius]: [f64; 2], friction: f64, [arm, inertia]: [f64; 2]) -> f64 {
    inertia * omega * radius / (arm * friction * GRAVITY)
}

/// Root of a monotonic function between two points of different sign.
fn bisection(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let rises = function(high) > 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if (function(middle) > 0.0) == rises {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}
