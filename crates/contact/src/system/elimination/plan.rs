//! Which ties can be eliminated, and where the numbers go: worked out once per structure of the ties.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block_sparse::BlockPattern;
use crate::cholesky::Symbolic;
use crate::system::{BodyFactor, Coupling, Matrix, System};

/// A leaf has at most so many tied nodes (64 degrees of freedom): it costs a solve for each of their components.
const MOST_TIED: usize = 21;

/// And at most so many nodes of its host, all pairs of which become blocks.
const MOST_ANCHORS: usize = 100;

/// The factor of a host may grow to so many times that of its body, or to [`SMALL`]; more is left to conjugate gradients.
const MOST_FILL: usize = 4;

/// Entries of a factor that is small enough whatever it was before.
const SMALL: usize = 300_000;

/// The leaves and hosts of a system.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) leaves: Vec<Leaf>,
    pub(super) hosts: Vec<Host>,
    /// Whether each body is a host, or has a leaf.
    is_host: Vec<bool>,
    has_leaf: Vec<bool>,
}

/// A body, or a rod of a batch, that is tied to its host only, or to itself.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    pub(super) body: usize,
    /// The place of its host among the hosts; none if it is tied to itself only.
    pub(super) host: Option<usize>,
    /// Where the degrees of freedom of its tied nodes begin, ascending.
    pub(super) tied: Vec<usize>,
    /// And those of its host that it is tied to.
    pub(super) anchors: Vec<usize>,
    pub(super) couplings: Vec<usize>,
}

/// A sparse body with leaves, or tied to itself.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) body: usize,
    /// All that its nodes have a part in.
    pub(super) couplings: Vec<usize>,
    pub(super) pattern: Arc<BlockPattern>,
    pub(super) symbolic: Arc<Symbolic>,
}

/// What a part of the system (a body, or a rod of a batch) is tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TiedTo {
    Nothing,
    Itself,
    One(u32),
    Many,
}

impl TiedTo {
    fn meet(&mut self, other: u32) {
        *self = match *self {
            TiedTo::Nothing | TiedTo::Itself => TiedTo::One(other),
            TiedTo::One(one) if one == other => TiedTo::One(one),
            TiedTo::One(_) | TiedTo::Many => TiedTo::Many,
        };
    }
}

impl Plan {
    /// Nothing if some tie cannot be eliminated, or it would cost too much. `factors` are those of the bodies; what `before` had
    /// worked out for the same blocks is taken over.
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
        let Sorted { leaves, inner } = parts.sort(system)?;
        // The leaves of each host, and its couplings.
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
                None => analyze(&pattern, system, (body, &factors[body]))?,
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

    fn symbolic(&self, body: usize, pattern: &BlockPattern) -> Option<Arc<Symbolic>> {
        let host = self.hosts.iter().find(|host| host.body == body)?;
        (*host.pattern == *pattern).then(|| host.symbolic.clone())
    }

    /// The blocks of the host's own matrix, and of all pairs of its nodes that a leaf or a tie within it brings together.
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
            if inside.len() > MOST_ANCHORS {
                return None;
            }
            join(&inside);
        }
        Some(BlockPattern::new(own.nodes(), pairs))
    }
}

/// The symbolic part for a host; its body's own if that has the same blocks. Nothing if the factor would be too large.
fn analyze(
    pattern: &BlockPattern,
    system: &System,
    (body, factor): (usize, &BodyFactor),
) -> Option<Arc<Symbolic>> {
    let (Matrix::Blocks(matrix), BodyFactor::Blocks(factor)) =
        (&system.bodies[body].matrix, factor)
    else {
        return None;
    };
    let own = factor.symbolic();
    if **matrix.pattern() == *pattern {
        return Some(own.clone());
    }
    let symbolic = Symbolic::analyze(pattern).ok()?;
    let most = SMALL.max(MOST_FILL * own.factor_entries());
    (symbolic.factor_entries() <= most).then(|| Arc::new(symbolic))
}

fn offsets<'a>(
    system: &'a System,
    coupling: &'a Coupling,
) -> impl Iterator<Item = usize> + Clone + 'a {
    let nodes = coupling.nodes.iter();
    nodes.map(|(node, _)| system.node_offset[*node as usize])
}

/// All couplings of a system.
struct Sorted {
    leaves: Vec<Leaf>,
    /// Those within sparse bodies that are no leaves, each after its body.
    inner: Vec<(usize, usize)>,
}

/// What ties bring together: sparse bodies and single rods.
struct Parts {
    of_node: Vec<u32>,
    tied: Vec<TiedTo>,
    /// The number of unknowns of each sparse body; nothing for rods.
    sizes: Vec<Option<usize>>,
}

impl Parts {
    /// Nothing if a coupling has nodes of three parts: none of them is tied to one other only.
    fn new(system: &System) -> Option<Self> {
        let (of_node, count) = system.parts_of_nodes();
        let mut parts = Self {
            of_node,
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
                parts.tied[one as usize].meet(other);
                parts.tied[other as usize].meet(one);
            } else if parts.tied[one as usize] == TiedTo::Nothing {
                parts.tied[one as usize] = TiedTo::Itself;
            }
        }
        Some(parts)
    }

    /// The two parts that a coupling ties, or the one twice.
    fn ends(&self, coupling: &Coupling) -> Option<[u32; 2]> {
        let nodes = coupling.nodes.iter();
        let mut parts = nodes.map(|(node, _)| self.of_node[*node as usize]);
        let one = parts.next()?;
        let mut others = parts.filter(|part| *part != one);
        let other = others.clone().next().unwrap_or(one);
        others.all(|part| part == other).then_some([one, other])
    }

    fn is_rod(&self, part: u32) -> bool {
        self.sizes[part as usize].is_none()
    }

    /// Of two sparse bodies that are tied to each other only, the smaller one is the leaf.
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

    /// Nothing if a coupling is neither a leaf's nor within a sparse body, or a leaf has too many nodes.
    fn sort(&self, system: &System) -> Option<Sorted> {
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
                match self.of_node[*node as usize] == part {
                    true => leaf.tied.push(offset),
                    false => leaf.anchors.push(offset),
                }
            }
        }
        let mut leaves: Vec<Leaf> = leaves.into_values().collect();
        for leaf in &mut leaves {
            for offsets in [&mut leaf.tied, &mut leaf.anchors] {
                offsets.sort_unstable();
                offsets.dedup();
            }
            if leaf.tied.len() > MOST_TIED || leaf.anchors.len() > MOST_ANCHORS {
                return None;
            }
            leaf.body = system.body_of(leaf.tied[0]);
        }
        Some(Sorted { leaves, inner })
    }
}
