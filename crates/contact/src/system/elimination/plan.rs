//! Structure of an elimination: leaves, hosts and the patterns of Schur complements. Computed once
//! for couplings of the same nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block_sparse::BlockPattern;
use crate::symbolic::Symbolic;
use crate::system::{BodyFactor, Coupling, Matrix, System};

/// Limit on the tied nodes of a leaf. Each of their degrees of freedom (at most 63) costs a solve.
const MAX_TIED_NODES: usize = 21;

/// Limit on the host nodes of a leaf. All pairs of them become blocks of S.
const MAX_ANCHORS: usize = 100;

/// Limit on the size of the factor of S, relative to that of the host. Larger systems use conjugate
/// gradients.
const MAX_FILL_RATIO: usize = 4;

/// A factor of S with at most this many entries is accepted for any host.
const SMALL_FACTOR_ENTRIES: usize = 300_000;

/// Leaves and hosts of a system.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) leaves: Vec<Leaf>,
    pub(super) hosts: Vec<Host>,
    /// Whether each body is a host.
    is_host: Vec<bool>,
    /// Whether each body is a leaf or contains one.
    has_leaf: Vec<bool>,
}

/// A body, or a rod of a batch, that is tied to its host or to itself only.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    pub(super) body: usize,
    /// Index of its host in [`Plan::hosts`]; `None` if it is tied to itself only.
    pub(super) host: Option<usize>,
    /// Offsets of its tied nodes, ascending.
    pub(super) tied: Vec<usize>,
    /// Offsets of the host nodes that it is tied to, ascending.
    pub(super) anchors: Vec<usize>,
    /// Indices of its couplings.
    pub(super) couplings: Vec<usize>,
}

/// A sparse body with leaves, or tied to itself.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) body: usize,
    /// Indices of all couplings with a node of the host.
    pub(super) couplings: Vec<usize>,
    /// Pattern of S.
    pub(super) pattern: Arc<BlockPattern>,
    pub(super) symbolic: Arc<Symbolic>,
}

/// Ties of a part of the system (a body, or a rod of a batch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TiedTo {
    Nothing,
    Itself,
    One(u32),
    Many,
}

impl TiedTo {
    /// Adds a tie to another part.
    fn add(&mut self, other: u32) {
        *self = match *self {
            TiedTo::Nothing | TiedTo::Itself => TiedTo::One(other),
            TiedTo::One(one) if one == other => TiedTo::One(one),
            TiedTo::One(_) | TiedTo::Many => TiedTo::Many,
        };
    }
}

impl Plan {
    /// Plan for a system, or `None` if a tie cannot be eliminated or the elimination would be too
    /// expensive. Symbolic factorizations of `before` are reused for equal patterns.
    pub(super) fn new(
        system: &System,
        factors: &[BodyFactor],
        before: Option<&Plan>,
    ) -> Option<Self> {
        let parts = Parts::new(system)?;
        let mut plan = Self {
            leaves: Vec::new(),
            hosts: Vec::new(),
            is_host: vec![false; system.bodies.len()],
            has_leaf: vec![false; system.bodies.len()],
        };
        let SortedCouplings { leaves, inner } = parts.sort(system)?;
        // Leaves and couplings of each host.
        let mut hosts: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (index, leaf) in leaves.iter().enumerate() {
            plan.has_leaf[leaf.body] = true;
            if let Some(anchor) = leaf.anchors.first() {
                let (leaves, couplings) = hosts.entry(system.body_of(*anchor)).or_default();
                leaves.push(index);
                couplings.extend_from_slice(&leaf.couplings);
            }
        }
        for (body, coupling) in inner {
            hosts.entry(body).or_default().1.push(coupling);
        }
        plan.leaves = leaves;
        for (place, (body, (leaves, couplings))) in hosts.into_iter().enumerate() {
            plan.is_host[body] = true;
            for leaf in &leaves {
                plan.leaves[*leaf].host = Some(place);
            }
            let pattern = plan.host_pattern(system, body, &leaves, &couplings)?;
            let known = before.and_then(|before| before.symbolic(body, &pattern));
            let symbolic = match known {
                Some(symbolic) => symbolic,
                None => analyze(&pattern, &system.bodies[body].matrix, &factors[body])?,
            };
            plan.hosts.push(Host {
                body,
                couplings,
                pattern: Arc::new(pattern),
                symbolic,
            });
        }
        Some(plan)
    }

    pub(super) fn is_host(&self, body: usize) -> bool {
        self.is_host[body]
    }

    pub(super) fn has_leaf(&self, body: usize) -> bool {
        self.has_leaf[body]
    }

    /// Symbolic factorization of the host `body`, if it has this pattern.
    fn symbolic(&self, body: usize, pattern: &BlockPattern) -> Option<Arc<Symbolic>> {
        let host = self.hosts.iter().find(|host| host.body == body)?;
        (*host.pattern == *pattern).then(|| host.symbolic.clone())
    }

    /// Pattern of S: the blocks of the host, and of all pairs of its nodes that are coupled through
    /// a leaf or a tie.
    fn host_pattern(
        &self,
        system: &System,
        body: usize,
        leaves: &[usize],
        couplings: &[usize],
    ) -> Option<BlockPattern> {
        let host = &system.bodies[body];
        let Matrix::Blocks(matrix) = &host.matrix else {
            return None;
        };
        let own = matrix.pattern();
        let columns = 0..own.nodes();
        let mut pairs: Vec<(u32, u32)> = columns
            .flat_map(|column| {
                let rows = own.rows()[own.column(column)].iter();
                rows.map(move |row| (*row, column as u32))
            })
            .collect();
        let dofs = host.offset..host.offset + host.matrix.dofs();
        let mut join = |offsets: &[usize]| {
            let node = |offset: &usize| ((offset - dofs.start) / 3) as u32;
            for (place, one) in offsets.iter().enumerate() {
                let others = offsets[..place].iter();
                pairs.extend(others.map(|other| (node(one), node(other))));
            }
        };
        for leaf in leaves {
            join(&self.leaves[*leaf].anchors);
        }
        for coupling in couplings {
            let offsets = offsets(system, &system.couplings[*coupling]);
            let inside: Vec<usize> = offsets.filter(|offset| dofs.contains(offset)).collect();
            if inside.len() > MAX_ANCHORS {
                return None;
            }
            join(&inside);
        }
        Some(BlockPattern::new(own.nodes(), pairs))
    }
}

/// Symbolic factorization of S; shared with the body if the patterns are equal. `None` if the
/// factor would be too large.
fn analyze(pattern: &BlockPattern, matrix: &Matrix, factor: &BodyFactor) -> Option<Arc<Symbolic>> {
    let (Matrix::Blocks(matrix), BodyFactor::Blocks(factor)) = (matrix, factor) else {
        return None;
    };
    let own = factor.symbolic();
    if **matrix.pattern() == *pattern {
        return Some(own.clone());
    }
    let symbolic = Symbolic::analyze(pattern).ok()?;
    let limit = SMALL_FACTOR_ENTRIES.max(MAX_FILL_RATIO * own.factor_entries());
    (symbolic.factor_entries() <= limit).then(|| Arc::new(symbolic))
}

/// Offsets of the nodes of a coupling.
fn offsets<'a>(
    system: &'a System,
    coupling: &'a Coupling,
) -> impl Iterator<Item = usize> + Clone + 'a {
    let nodes = coupling.nodes.iter();
    nodes.map(|(node, _)| system.node_offset[*node as usize])
}

/// Couplings of a system, sorted into leaves and hosts.
struct SortedCouplings {
    leaves: Vec<Leaf>,
    /// Couplings within sparse bodies that are not leaves: (body, coupling).
    inner: Vec<(usize, usize)>,
}

/// Parts of a system that ties connect: sparse bodies and single rods.
struct Parts {
    part_of_node: Vec<u32>,
    tied: Vec<TiedTo>,
    /// Number of unknowns of each sparse body; `None` for rods.
    sizes: Vec<Option<usize>>,
}

impl Parts {
    /// `None` if a coupling has nodes of three parts, because then none of them is a leaf.
    fn new(system: &System) -> Option<Self> {
        let (part_of_node, count) = system.parts_of_nodes();
        let mut parts = Self {
            part_of_node,
            tied: vec![TiedTo::Nothing; count],
            sizes: Vec::with_capacity(count),
        };
        for body in &system.bodies {
            match &body.matrix {
                Matrix::Blocks(_) => parts.sizes.push(Some(body.matrix.dofs())),
                Matrix::Rods(batch) => parts.sizes.resize(parts.sizes.len() + batch.count(), None),
            }
        }
        for coupling in &system.couplings {
            let [one, other] = parts.ends(coupling)?;
            if one != other {
                parts.tied[one as usize].add(other);
                parts.tied[other as usize].add(one);
            } else if parts.tied[one as usize] == TiedTo::Nothing {
                parts.tied[one as usize] = TiedTo::Itself;
            }
        }
        Some(parts)
    }

    /// The two parts of a coupling; equal if it is within one part. `None` if it has more.
    fn ends(&self, coupling: &Coupling) -> Option<[u32; 2]> {
        let nodes = coupling.nodes.iter();
        let mut parts = nodes.map(|(node, _)| self.part_of_node[*node as usize]);
        let one = parts.next()?;
        let mut others = parts.filter(|part| *part != one);
        let other = others.clone().next().unwrap_or(one);
        others.all(|part| part == other).then_some([one, other])
    }

    fn is_rod(&self, part: u32) -> bool {
        self.sizes[part as usize].is_none()
    }

    /// Whether a part is a leaf. Of two sparse bodies that are tied to each other only, the smaller
    /// one is.
    fn is_leaf(&self, part: u32) -> bool {
        match self.tied[part as usize] {
            TiedTo::Nothing | TiedTo::Many => false,
            TiedTo::Itself => self.is_rod(part),
            TiedTo::One(other) if self.is_rod(other) => false,
            TiedTo::One(other) => {
                let is_mutual = self.tied[other as usize] == TiedTo::One(part);
                let size = |part: u32| (self.sizes[part as usize], part);
                !is_mutual || size(part) < size(other)
            }
        }
    }

    /// Sorts couplings into leaves and hosts. `None` if a coupling has no leaf and is not within a
    /// sparse body, or if a leaf has too many nodes.
    fn sort(&self, system: &System) -> Option<SortedCouplings> {
        let mut leaves: BTreeMap<u32, Leaf> = BTreeMap::new();
        let mut inner = Vec::new();
        for (index, coupling) in system.couplings.iter().enumerate() {
            let ends = self.ends(coupling)?;
            let Some(part) = ends.into_iter().find(|part| self.is_leaf(*part)) else {
                let first = offsets(system, coupling).next()?;
                if ends[0] != ends[1] || self.is_rod(ends[0]) {
                    return None;
                }
                inner.push((system.body_of(first), index));
                continue;
            };
            let leaf = leaves.entry(part).or_default();
            leaf.couplings.push(index);
            for ((node, _), offset) in coupling.nodes.iter().zip(offsets(system, coupling)) {
                if self.part_of_node[*node as usize] == part {
                    leaf.tied.push(offset)
                } else {
                    leaf.anchors.push(offset)
                }
            }
        }
        let mut leaves: Vec<Leaf> = leaves.into_values().collect();
        for leaf in &mut leaves {
            for offsets in [&mut leaf.tied, &mut leaf.anchors] {
                offsets.sort_unstable();
                offsets.dedup();
            }
            if leaf.tied.len() > MAX_TIED_NODES || leaf.anchors.len() > MAX_ANCHORS {
                return None;
            }
            leaf.body = system.body_of(leaf.tied[0]);
        }
        Some(SortedCouplings { leaves, inner })
    }
}
