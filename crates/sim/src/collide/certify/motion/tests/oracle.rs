//! Collision of features with small integer coordinates by algebra, independent of bisection and
//! rounding.
//!
//! Whether four points collide at a time depends on the signs of a few polynomials in time (dot
//! products of differences and of area vectors, and the volume). The first collision is at the
//! start or at a root of one of them. Roots are isolated by the rule of Descartes, and the sign of
//! a polynomial at the root of another follows from their common divisor.

use std::cmp::Ordering;

use glam::DVec3;

use super::PairKind;

/// Halvings, at most: after more, the numbers would overflow.
const MAX_HALVINGS: u32 = 22;

/// Coefficients by power, without leading zeros: the zero polynomial has none.
#[derive(Clone, Debug, PartialEq)]
struct Polynomial(Vec<i128>);

/// A time of the step.
#[derive(Clone, Debug)]
enum Time {
    /// number/2^depth.
    Known(i128, u32),
    /// The only root of a polynomial without double roots strictly between number/2^depth and the
    /// next multiple of 1/2^depth.
    Root(Polynomial, i128, u32),
}

impl Polynomial {
    fn new(mut coefficients: Vec<i128>) -> Polynomial {
        while coefficients.last() == Some(&0) {
            coefficients.pop();
        }
        Polynomial(coefficients)
    }

    fn plus(&self, other: &Polynomial, factor: i128) -> Polynomial {
        let length = self.0.len().max(other.0.len());
        let at = |of: &Polynomial, power: usize| of.0.get(power).copied().unwrap_or(0);
        Polynomial::new(
            (0..length)
                .map(|power| at(self, power) + factor * at(other, power))
                .collect(),
        )
    }

    fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = vec![0; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                product[i + j] += a * b;
            }
        }
        Polynomial::new(product)
    }

    /// Divides its coefficients by their common divisor.
    fn primitive(self) -> Polynomial {
        let divisor = self.0.iter().fold(0, |divisor, &c| gcd(divisor, c.abs()));
        Polynomial(self.0.iter().map(|c| c / divisor.max(1)).collect())
    }

    fn derivative(&self) -> Polynomial {
        let powers = self.0.iter().enumerate().skip(1);
        Polynomial::new(powers.map(|(power, c)| power as i128 * c).collect())
    }

    /// Quotient and remainder of some multiple of the polynomial.
    fn divide(&self, divisor: &Polynomial) -> [Polynomial; 2] {
        let (mut quotient, mut rest) = (Polynomial(Vec::new()), self.clone());
        let leading = divisor.0[divisor.0.len() - 1];
        while rest.0.len() >= divisor.0.len() {
            let mut term = vec![0; rest.0.len() - divisor.0.len() + 1];
            *term.last_mut().unwrap() = rest.0[rest.0.len() - 1];
            let term = Polynomial(term);
            let scale = Polynomial(vec![leading]);
            quotient = quotient.times(&scale).plus(&term, 1);
            rest = rest.times(&scale).plus(&term.times(divisor), -1);
        }
        [quotient.primitive(), rest.primitive()]
    }

    fn common_divisor(&self, other: &Polynomial) -> Polynomial {
        let (mut a, mut b) = (self.clone().primitive(), other.clone().primitive());
        while !b.0.is_empty() {
            let [_, rest] = a.divide(&b);
            (a, b) = (b, rest);
        }
        a
    }

    /// The same roots, each once.
    fn without_double_roots(&self) -> Polynomial {
        let divisor = self.common_divisor(&self.derivative());
        let [quotient, _] = self.divide(&divisor);
        quotient
    }

    fn sign_at(&self, number: i128, depth: u32) -> Ordering {
        let mut value = 0;
        let mut unit = 1;
        for c in self.0.iter().rev() {
            value = value * number + c * unit;
            unit <<= depth;
        }
        value.cmp(&0)
    }

    /// Sign changes, which bound the number of roots strictly inside (number, number + 1)/2^depth
    /// and have its parity: those of the coefficients of (x + 1)^n P((number + 1/(x + 1))/2^depth).
    fn variations(&self, number: i128, depth: u32) -> usize {
        let degree = self.0.len() - 1;
        let powers = self.0.iter().enumerate();
        let scaled = powers.map(|(power, c)| c << (depth as usize * (degree - power)));
        let mut shifted = shift(scaled.collect(), number);
        shifted.reverse();
        let mut signs: Vec<i128> = shift(shifted, 1).iter().map(|c| c.signum()).collect();
        signs.retain(|sign| *sign != 0);
        signs.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Adds its roots strictly inside an interval; None if they are too close together.
    fn roots(&self, number: i128, depth: u32, times: &mut Vec<Time>) -> Option<()> {
        match self.variations(number, depth) {
            0 => {}
            1 => times.push(Time::Root(self.clone(), number, depth)),
            _ if depth == MAX_HALVINGS => return None,
            _ => {
                let middle = 2 * number + 1;
                if self.sign_at(middle, depth + 1).is_eq() {
                    times.push(Time::Known(middle, depth + 1));
                }
                self.roots(middle - 1, depth + 1, times)?;
                self.roots(middle, depth + 1, times)?;
            }
        }
        Some(())
    }
}

impl Time {
    /// The sign of a polynomial at this time; None if that needs too short an interval.
    fn sign_of(&self, polynomial: &Polynomial) -> Option<Ordering> {
        let (root_of, mut number, mut depth) = match self {
            _ if polynomial.0.is_empty() => return Some(Ordering::Equal),
            Time::Known(number, depth) => return Some(polynomial.sign_at(*number, *depth)),
            Time::Root(root_of, number, depth) => (root_of, *number, *depth),
        };
        let shared = root_of.common_divisor(polynomial);
        if shared.variations(number, depth) % 2 == 1 {
            return Some(Ordering::Equal);
        }
        while polynomial.variations(number, depth) > 0 {
            if depth == MAX_HALVINGS {
                return None;
            }
            (number, depth) = (2 * number, depth + 1);
            if root_of.sign_at(number + 1, depth).is_eq() {
                return Some(polynomial.sign_at(number + 1, depth));
            }
            number += i128::from(root_of.variations(number, depth) % 2 == 0);
        }
        Some(polynomial.sign_at(2 * number + 1, depth + 1))
    }

    /// An interval that contains it.
    fn bracket(&self) -> [f64; 2] {
        let at = |number: i128, depth: u32| number as f64 / f64::from(1 << depth);
        match self {
            Time::Known(number, depth) => [at(*number, *depth); 2],
            Time::Root(_, number, depth) => [at(*number, *depth), at(number + 1, *depth)],
        }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The coefficients of P(x + by).
fn shift(mut coefficients: Vec<i128>, by: i128) -> Vec<i128> {
    for start in 0..coefficients.len() {
        for power in (start..coefficients.len() - 1).rev() {
            coefficients[power] += by * coefficients[power + 1];
        }
    }
    coefficients
}

type Vector = [Polynomial; 3];

fn cross(a: &Vector, b: &Vector) -> Vector {
    let minor = |i: usize, j: usize| a[i].times(&b[j]).plus(&a[j].times(&b[i]), -1);
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

fn dot(a: &Vector, b: &Vector) -> Polynomial {
    let product = |axis: usize| a[axis].times(&b[axis]);
    product(0).plus(&product(1), 1).plus(&product(2), 1)
}

/// The polynomials whose signs decide.
struct Conditions {
    volume: Polynomial,
    /// Products of area vectors of the sides.
    areas: Vec<Polynomial>,
    /// Squares of area vectors of the sides.
    squares: Vec<Polynomial>,
    /// Products of differences.
    differences: Vec<Polynomial>,
}

impl Conditions {
    fn new(kind: PairKind, from: &[DVec3; 4], to: &[DVec3; 4]) -> Conditions {
        let difference = |one: usize, other: usize| -> Vector {
            std::array::from_fn(|axis| {
                let start = (from[one][axis] - from[other][axis]) as i128;
                let end = (to[one][axis] - to[other][axis]) as i128;
                Polynomial::new(vec![start, end - start])
            })
        };
        let corners: Vec<Vector> = match kind {
            PairKind::PointTriangle => (1..4).map(|corner| difference(corner, 0)).collect(),
            PairKind::EdgeEdge => [(0, 2), (1, 2), (1, 3), (0, 3)]
                .map(|(one, other)| difference(one, other))
                .to_vec(),
        };
        let count = corners.len();
        let areas: Vec<Vector> = (0..count)
            .map(|i| cross(&corners[i], &corners[(i + 1) % count]))
            .collect();
        let products = |vectors: &[Vector]| {
            let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
            pairs.map(|(i, j)| dot(&vectors[i], &vectors[j])).collect()
        };
        Conditions {
            volume: dot(&areas[0], &corners[2]),
            squares: areas.iter().map(|area| dot(area, area)).collect(),
            areas: products(&areas),
            differences: products(&corners),
        }
    }

    /// Whether the features collide at a time; None if the numbers would overflow.
    fn hold(&self, time: &Time) -> Option<bool> {
        if time.sign_of(&self.volume)?.is_ne() {
            return Some(false);
        }
        let signs = |of: &[Polynomial]| -> Option<Vec<Ordering>> {
            of.iter()
                .map(|polynomial| time.sign_of(polynomial))
                .collect()
        };
        // In a plane all areas have the same direction. On a line the differences do not.
        if signs(&self.squares)?.iter().any(|sign| sign.is_gt()) {
            return Some(signs(&self.areas)?.iter().all(|sign| sign.is_ge()));
        }
        Some(signs(&self.differences)?.iter().any(|sign| sign.is_le()))
    }
}

/// The first collision: None if there is none, else a time interval that contains it. The outer
/// option is None if the numbers would overflow.
pub(super) fn first_collision(
    kind: PairKind,
    from: &[DVec3; 4],
    to: &[DVec3; 4],
) -> Option<Option<[f64; 2]>> {
    let conditions = Conditions::new(kind, from, to);
    let mut times = vec![Time::Known(0, 0), Time::Known(1, 0)];
    let all = [
        &conditions.areas,
        &conditions.squares,
        &conditions.differences,
    ];
    for polynomial in all.into_iter().flatten().chain([&conditions.volume]) {
        if polynomial.0.len() > 1 {
            polynomial.without_double_roots().roots(0, 0, &mut times)?;
        }
    }
    let mut first: Option<[f64; 2]> = None;
    for time in times {
        if conditions.hold(&time)? {
            let [low, high] = time.bracket();
            first = first.map_or(Some([low, high]), |first| {
                Some([first[0].min(low), first[1].min(high)])
            });
        }
    }
    Some(first)
}
