//! Writing FCLIB files.

use hdf5_pure::{FileBuilder, FinishedGroup, GroupBuilder, LibVer};

use super::FclibProblem;
use crate::file::FileError;
use crate::global::flat;
use crate::sparse_rows::SparseRows;

impl FclibProblem {
    /// Bytes of a file with a title. Matrices are written as compressed rows.
    ///
    /// # Errors
    /// If the problem is too large for the 32-bit integers of the format.
    pub fn to_bytes(&self, title: &str) -> Result<Vec<u8>, FileError> {
        let mut file = FileBuilder::new();
        // Many builds of the C library of FCLIB use HDF5 1.8.
        file.with_libver_bounds(LibVer::Earliest, LibVer::V18);
        let group = match self {
            Self::Local(problem) => {
                let rows = 3 * problem.contacts();
                let mut group = file.create_group("fclib_local");
                let entries = (0..problem.contacts()).flat_map(|row| {
                    let (columns, blocks) = problem.operator.row(row);
                    let blocks = columns.iter().zip(blocks);
                    blocks.flat_map(move |(column, block)| {
                        let scalars = (0..9).map(|place| (place / 3, place % 3));
                        scalars.map(move |(r, c)| {
                            let (row, column) = (3 * row + r, 3 * *column as usize + c);
                            (row as u32, column as u32, block.col(c)[r])
                        })
                    })
                });
                add_matrix(&mut group, "W", &SparseRows::new([rows; 2], entries))?;
                let free = flat(&problem.free);
                add_vectors(&mut group, &[("q", &free), ("mu", &problem.friction)]);
                group
            }
            Self::Global(problem) => {
                let mut group = file.create_group("fclib_global");
                add_matrix(&mut group, "M", &problem.mass)?;
                add_matrix(&mut group, "H", &problem.contacts)?;
                let kinematic = flat(&problem.kinematic);
                let vectors = [
                    ("f", &problem.force),
                    ("w", &kinematic),
                    ("mu", &problem.friction),
                ];
                add_vectors(&mut group, &vectors);
                group
            }
        };
        file.add_group(finished(group, title)?);
        file.finish().map_err(cannot_write)
    }
}

fn finished(mut group: GroupBuilder, title: &str) -> Result<FinishedGroup, FileError> {
    group.create_dataset("spacedim").with_i32_data(&[3]);
    let mut info = group.create_group("info");
    let texts = [
        ("title", title),
        ("description", "written by reefknot"),
        (
            "math_info",
            "contacts have the axes normal, tangent, tangent",
        ),
    ];
    for (name, text) in texts {
        let text = info.create_dataset(name).with_strings(&[text]);
        text.map_err(cannot_write)?;
    }
    group.add_group(info.finish());
    Ok(group.finish())
}

fn add_matrix(group: &mut GroupBuilder, name: &str, matrix: &SparseRows) -> Result<(), FileError> {
    let small = |number: usize| {
        let too_large = |_| FileError::new(name, "is too large for the format of FCLIB");
        i32::try_from(number).map_err(too_large)
    };
    let stored = small(matrix.stored())?;
    let mut ends = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in 0..matrix.rows() {
        let (row_columns, numbers) = matrix.row(row);
        columns.extend(row_columns.iter().map(|column| *column as i32));
        values.extend_from_slice(numbers);
        ends.push(columns.len() as i32);
    }
    let mut matrix_group = group.create_group(name);
    let sizes = [
        ("m", small(matrix.rows())?),
        ("n", small(matrix.columns())?),
        ("nz", -2),
        ("nzmax", stored),
    ];
    for (name, size) in sizes {
        matrix_group.create_dataset(name).with_i32_data(&[size]);
    }
    matrix_group.create_dataset("p").with_i32_data(&ends);
    matrix_group.create_dataset("i").with_i32_data(&columns);
    matrix_group.create_dataset("x").with_f64_data(&values);
    group.add_group(matrix_group.finish());
    Ok(())
}

fn add_vectors(group: &mut GroupBuilder, vectors: &[(&str, &Vec<f64>)]) {
    let mut vectors_group = group.create_group("vectors");
    for (name, values) in vectors {
        vectors_group.create_dataset(name).with_f64_data(values);
    }
    group.add_group(vectors_group.finish());
}

fn cannot_write(error: impl std::fmt::Display) -> FileError {
    FileError::new("the file", format!("cannot be written: {error}"))
}
