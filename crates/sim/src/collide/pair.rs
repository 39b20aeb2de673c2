//! Features, pairs of features, and the id that identifies a contact from step to step.

use super::features::Features;

/// Bits of a contact id for the index of one feature.
const INDEX_BITS: u32 = 30;

/// A feature, by its index in [`Features`] or in the list of colliders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A point.
    /// A point.
    Point(u32),
    /// The interior of an edge.
    Edge(u32),
    /// The interior of a triangle.
    Triangle(u32),
    /// An exact collider.
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

    /// Its boundary: the ends of an edge, the sides of a triangle.
    pub(crate) fn boundary(self, features: &Features) -> impl Iterator<Item = Feature> {
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

    /// The features that it bounds: the edges at a point, the triangles on an edge.
    pub(crate) fn incident(self, features: &Features) -> impl Iterator<Item = Feature> {
        let (numbers, of): (&[u32], fn(u32) -> Feature) = match self {
            Feature::Point(point) => (features.point_edges.of(point), Feature::Edge),
            Feature::Edge(edge) => (features.edge_triangles.of(edge), Feature::Triangle),
            Feature::Triangle(_) | Feature::Collider(_) => (&[], Feature::Point),
        };
        numbers.iter().map(move |&number| of(number))
    }
}

/// Two features, the lower first: points before edges before triangles before colliders, then by
/// index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeaturePair {
    features: [Feature; 2],
}

impl FeaturePair {
    /// The pair of two features in any order.
    #[must_use]
    pub fn new(one: Feature, other: Feature) -> FeaturePair {
        FeaturePair {
            features: [one.min(other), one.max(other)],
        }
    }

    /// The pair with this id.
    #[must_use]
    pub fn from_id(id: u64) -> FeaturePair {
        let number = |shift: u32| (id >> shift) as u32 & ((1 << INDEX_BITS) - 1);
        let feature = |kind: u64, number: u32| match kind & 3 {
            0 => Feature::Point(number),
            1 => Feature::Edge(number),
            2 => Feature::Triangle(number),
            _ => Feature::Collider(number),
        };
        FeaturePair::new(
            feature(id >> 62, number(INDEX_BITS)),
            feature(id >> 60, number(0)),
        )
    }

    /// The lower feature and the higher one.
    #[must_use]
    pub fn features(self) -> [Feature; 2] {
        self.features
    }

    /// The id of a contact of this pair: two bits for each kind, 30 for each index. Unique below
    /// 2³⁰ features of a kind; the positions of so many points take 24 GB.
    #[must_use]
    pub fn id(self) -> u64 {
        let [first, second] = self.features;
        let number = |feature: Feature| u64::from(feature.number()) & ((1 << INDEX_BITS) - 1);
        (first.kind() << 62)
            | (second.kind() << 60)
            | (number(first) << INDEX_BITS)
            | number(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_own_id() {
        let of: [fn(u32) -> Feature; 4] = [
            Feature::Point,
            Feature::Edge,
            Feature::Triangle,
            Feature::Collider,
        ];
        let largest = (1 << INDEX_BITS) - 1;
        let all: Vec<Feature> = of
            .iter()
            .flat_map(|of| [0, 1, 77, largest].map(of))
            .collect();
        let mut ids = Vec::new();
        for (at, one) in all.iter().enumerate() {
            for other in &all[at..] {
                let pair = FeaturePair::new(*one, *other);
                assert_eq!(pair, FeaturePair::new(*other, *one));
                assert_eq!(pair, FeaturePair::from_id(pair.id()));
                ids.push(pair.id());
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
