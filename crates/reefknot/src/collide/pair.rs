//! Names of what touches: a feature, a pair of features, and the number by which a contact is known from step to step.

use super::features::Features;

/// Bits of a contact's number that name one feature.
const BITS: u32 = 30;

/// Something that can touch, by its number in [`Features`] or in the list of colliders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A point.
    Point(u32),
    /// The inside of an edge.
    Edge(u32),
    /// The inside of a triangle.
    Triangle(u32),
    /// A collider with a formula.
    Collider(u32),
}

impl Feature {
    fn kind(self) -> u64 {
        match self {
            Feature::Point(_) => 0,
            Feature::Edge(_) => 1,
            Feature::Triangle(_) => 2,
            Feature::Collider(_) => 3,
        }
    }

    fn number(self) -> u32 {
        match self {
            Feature::Point(number)
            | Feature::Edge(number)
            | Feature::Triangle(number)
            | Feature::Collider(number) => number,
        }
    }

    /// Its corners, the last one repeated; all 0 for a collider.
    #[must_use]
    pub fn corners(self, features: &Features) -> [u32; 3] {
        match self {
            Feature::Point(point) => [point; 3],
            Feature::Edge(edge) => {
                let [a, b] = features.edges[edge as usize];
                [a, b, b]
            }
            Feature::Triangle(triangle) => features.triangles[triangle as usize],
            Feature::Collider(_) => [0; 3],
        }
    }

    /// What bounds it: the ends of an edge, the sides of a triangle.
    pub(crate) fn border(self, features: &Features) -> impl Iterator<Item = Feature> {
        let (count, parts) = match self {
            Feature::Edge(edge) => {
                let [a, b] = features.edges[edge as usize];
                (2, [Feature::Point(a), Feature::Point(b), Feature::Point(b)])
            }
            Feature::Triangle(triangle) => {
                let sides = features.triangle_edges[triangle as usize];
                (3, sides.map(Feature::Edge))
            }
            Feature::Point(_) | Feature::Collider(_) => (0, [self; 3]),
        };
        parts.into_iter().take(count)
    }

    /// What it bounds: the edges at a point, the triangles on an edge.
    pub(crate) fn around(self, features: &Features) -> impl Iterator<Item = Feature> {
        let (numbers, of): (&[u32], fn(u32) -> Feature) = match self {
            Feature::Point(point) => (features.point_edges.of(point), Feature::Edge),
            Feature::Edge(edge) => (features.edge_triangles.of(edge), Feature::Triangle),
            Feature::Triangle(_) | Feature::Collider(_) => (&[], Feature::Point),
        };
        numbers.iter().map(move |&number| of(number))
    }
}

/// Two features, the lower one first: points before edges before triangles before colliders, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    features: [Feature; 2],
}

impl Pair {
    /// The pair of two features, whichever is given first.
    #[must_use]
    pub fn new(one: Feature, other: Feature) -> Pair {
        Pair {
            features: [one.min(other), one.max(other)],
        }
    }

    /// The pair that has a number.
    #[must_use]
    pub fn of(id: u64) -> Pair {
        let number = |shift: u32| (id >> shift) as u32 & ((1 << BITS) - 1);
        let feature = |kind: u64, number: u32| match kind & 3 {
            0 => Feature::Point(number),
            1 => Feature::Edge(number),
            2 => Feature::Triangle(number),
            _ => Feature::Collider(number),
        };
        Pair::new(
            feature(id >> 62, number(BITS)),
            feature(id >> 60, number(0)),
        )
    }

    /// The lower one and the higher one.
    #[must_use]
    pub fn features(self) -> [Feature; 2] {
        self.features
    }

    /// The number of a contact of this pair: two bits for each kind, 30 for each feature. Unique below 2³⁰ features of a
    /// kind, which would fill 24 GB with the positions of their points.
    #[must_use]
    pub fn id(self) -> u64 {
        let [first, second] = self.features;
        let number = |feature: Feature| u64::from(feature.number()) & ((1 << BITS) - 1);
        (first.kind() << 62) | (second.kind() << 60) | (number(first) << BITS) | number(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_own_number() {
        let of: [fn(u32) -> Feature; 4] = [
            Feature::Point,
            Feature::Edge,
            Feature::Triangle,
            Feature::Collider,
        ];
        let largest = (1 << BITS) - 1;
        let all: Vec<Feature> = of
            .iter()
            .flat_map(|of| [0, 1, 77, largest].map(of))
            .collect();
        let mut ids = Vec::new();
        for (at, one) in all.iter().enumerate() {
            for other in &all[at..] {
                let pair = Pair::new(*one, *other);
                assert_eq!(pair, Pair::new(*other, *one));
                assert_eq!(pair, Pair::of(pair.id()));
                ids.push(pair.id());
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
