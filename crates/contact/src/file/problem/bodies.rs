//! Matrices of bodies. Shared patterns are stored once; the values of all bodies are in two
//! concatenated lists, one for blocks and one for bands.

use std::ops::Range;
use std::sync::Arc;

use super::{FileError, TensorReader, TensorWriter, check_length};
use crate::banded::{BandedBatch, BandedLayout};
use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::system::{Matrix, System};

const BLOCKS: usize = 0;
const RODS: usize = 1;

/// Length of the description of a body. A sparse body has its kind and the index of its pattern. A
/// batch of rods has its kind, the number of rods, their unknowns and bandwidth, and whether they
/// are closed.
const DESCRIPTION_LEN: usize = 5;

pub(super) fn write(file: &mut TensorWriter, system: &System) {
    let mut patterns: Vec<&Arc<BlockPattern>> = Vec::new();
    let (mut descriptions, mut blocks, mut bands) = (Vec::new(), Vec::new(), Vec::new());
    for body in &system.bodies {
        descriptions.extend(match &body.matrix {
            Matrix::Blocks(matrix) => {
                blocks.extend_from_slice(&matrix.values);
                // Bodies that share a pattern are mostly consecutive.
                let known = patterns
                    .iter()
                    .rposition(|it| Arc::ptr_eq(it, matrix.pattern()));
                let place = known.unwrap_or_else(|| {
                    patterns.push(matrix.pattern());
                    patterns.len() - 1
                });
                [BLOCKS, place, 0, 0, 0]
            }
            Matrix::Rods(batch) => {
                bands.extend(batch.bands());
                let layout = batch.layout();
                let is_closed = usize::from(layout.order().is_some());
                let [size, bandwidth] = [layout.size(), layout.bandwidth()];
                [RODS, batch.count(), size, bandwidth, is_closed]
            }
        });
    }
    file.integers("body", descriptions.into_iter().map(|it| it as u64));
    let nodes = patterns.iter().map(|pattern| pattern.nodes() as u64);
    file.integers("pattern/nodes", nodes);
    let ends = patterns.iter().flat_map(|pattern| {
        let columns = 0..pattern.nodes();
        columns.map(|column| pattern.column(column).end as u64)
    });
    file.integers("pattern/end", ends);
    let rows = patterns.iter().flat_map(|pattern| pattern.rows());
    file.integers("pattern/row", rows.map(|row| u64::from(*row)));
    file.blocks("block/value", blocks);
    file.numbers("rod/band", &[bands.len()], &bands);
}

pub(super) fn read(file: &TensorReader<'_>) -> Result<Vec<Matrix>, FileError> {
    let patterns = read_patterns(file)?;
    let descriptions = file.integers("body")?;
    let (descriptions, rest) = descriptions.as_chunks::<DESCRIPTION_LEN>();
    if !rest.is_empty() {
        let reason = format!("must have {DESCRIPTION_LEN} entries for each body");
        return Err(FileError::new("body", reason));
    }
    let (blocks, bands) = (file.blocks("block/value")?, file.numbers("rod/band", &[])?);
    let (mut next_block, mut next_band) = (0, 0);
    let mut matrices = Vec::with_capacity(descriptions.len());
    for (body, description) in descriptions.iter().enumerate() {
        let invalid = |reason: &str| FileError::new("body", format!("{reason} (body {body})"));
        matrices.push(match *description {
            [BLOCKS, pattern, ..] => {
                let pattern = patterns.get(pattern);
                let pattern = pattern.ok_or(invalid("has a pattern that does not exist"))?;
                let range = next_range(&mut next_block, pattern.blocks());
                let values = range.and_then(|range| blocks.get(range));
                let mut matrix = BlockSparse::zeros(pattern.clone());
                let values = values.ok_or(invalid("needs more blocks than the file has"))?;
                matrix.values.copy_from_slice(values);
                Matrix::Blocks(matrix)
            }
            [RODS, count, size, bandwidth, is_closed] => {
                let numbers = bandwidth.checked_add(1).and_then(|it| it.checked_mul(size));
                let numbers = numbers.and_then(|it| it.checked_mul(count));
                let range = numbers.and_then(|numbers| next_range(&mut next_band, numbers));
                let values = range.and_then(|range| bands.get(range));
                let values =
                    values.ok_or(invalid("needs more numbers in rod/band than the file has"))?;
                let layout = layout(size, bandwidth, is_closed);
                let layout = layout.ok_or(invalid("has rods of an unknown shape"))?;
                let batch = BandedBatch::from_bands(layout, count, values);
                Matrix::Rods(batch.ok_or(invalid("has no rods"))?)
            }
            _ => return Err(invalid("is of an unknown kind")),
        });
        if matrices.last().is_none_or(|matrix| matrix.dofs() == 0) {
            return Err(invalid("has no unknowns"));
        }
    }
    check_length("block/value", blocks.len(), next_block)?;
    check_length("rod/band", bands.len(), next_band)?;
    Ok(matrices)
}

/// Range of the next `count` entries of a list; advances `next`.
fn next_range(next: &mut usize, count: usize) -> Option<Range<usize>> {
    let begin = *next;
    *next = begin.checked_add(count)?;
    Some(begin..*next)
}

/// Layout of rods with `size` unknowns; `None` if it is not valid or has no node.
fn layout(size: usize, bandwidth: usize, is_closed: usize) -> Option<BandedLayout> {
    let layout = match is_closed {
        0 => BandedLayout::new(size, bandwidth),
        1 if size.is_multiple_of(4) => BandedLayout::rod(size / 4, true),
        _ => return None,
    };
    (layout.bandwidth() == bandwidth && layout.size() == size && size >= 3).then_some(layout)
}

fn read_patterns(file: &TensorReader<'_>) -> Result<Vec<Arc<BlockPattern>>, FileError> {
    let ends = file.integers("pattern/end")?;
    let rows = file.integers("pattern/row")?.into_iter().map(u32::try_from);
    let too_large = |_| FileError::new("pattern/row", "has an entry that is too large");
    let rows: Vec<u32> = rows.collect::<Result<_, _>>().map_err(too_large)?;
    let (mut next_end, mut next_row) = (0, 0);
    let mut patterns = Vec::new();
    for nodes in file.integers("pattern/nodes")? {
        let place = patterns.len();
        let invalid = || {
            let reason = format!("is not valid for pattern {place}");
            FileError::new("pattern/end", reason)
        };
        let range = next_range(&mut next_end, nodes);
        let ends = range
            .and_then(|range| ends.get(range))
            .ok_or_else(invalid)?;
        let count = ends.last().copied().unwrap_or(0);
        let range = next_range(&mut next_row, count);
        let rows = range
            .and_then(|range| rows.get(range))
            .ok_or_else(invalid)?;
        let starts: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
        let pattern = BlockPattern::from_columns(starts, rows.to_vec()).ok_or_else(invalid)?;
        patterns.push(Arc::new(pattern));
    }
    check_length("pattern/end", ends.len(), next_end)?;
    check_length("pattern/row", rows.len(), next_row)?;
    Ok(patterns)
}

/// Checks that each node has three unknowns of one body, inside the band of one rod, and that nodes
/// do not overlap.
pub(super) fn check_nodes(system: &System) -> Result<(), FileError> {
    let is_inside = |offset: usize| {
        if offset.checked_add(3).is_none_or(|end| end > system.dofs()) {
            return false;
        }
        let body = &system.bodies[system.body_of(offset)];
        let first = offset - body.offset;
        match &body.matrix {
            Matrix::Blocks(_) => first.is_multiple_of(3),
            Matrix::Rods(batch) => {
                let layout = batch.layout();
                let first = first % layout.size();
                let is_close = |[one, other]: [usize; 2]| {
                    let rows = layout.row(first + one).abs_diff(layout.row(first + other));
                    rows <= layout.bandwidth()
                };
                first + 3 <= layout.size() && [[0, 1], [0, 2], [1, 2]].into_iter().all(is_close)
            }
        }
    };
    if let Some(node) = system
        .node_offset
        .iter()
        .position(|offset| !is_inside(*offset))
    {
        let reason = format!("puts node {node} outside the three unknowns of a node of a body");
        return Err(FileError::new("node/offset", reason));
    }
    let mut sorted = system.node_offset.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[1] - pair[0] < 3) {
        Err(FileError::new("node/offset", "lets nodes overlap"))
    } else {
        Ok(())
    }
}
