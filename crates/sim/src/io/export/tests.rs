use super::*;
use std::fs;
use std::path::PathBuf;

const THIRD: f64 = 1.0 / 3.0;

fn objects() -> Vec<ObjectTopology> {
    let name = |name: &str| ObjectTopology {
        name: name.to_string(),
        ..Default::default()
    };
    vec![
        ObjectTopology {
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..name("cloth")
        },
        ObjectTopology {
            edges: vec![[0, 1], [1, 2]],
            ..name("rod-1")
        },
        ObjectTopology {
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            tetrahedra: vec![[0, 1, 2, 3]],
            ..name("soft_solid")
        },
    ]
}

/// Points that differ by object, vertex, axis and frame, and need all digits of an f64.
fn load(index: usize) -> Result<Vec<ObjectFrame>, IoError> {
    let object = |object: usize, count: usize| {
        let corner = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let shift = object as f64 + index as f64 * THIRD;
        let points: Vec<[f64; 3]> = (0..count).map(|i| corner[i].map(|x| x + shift)).collect();
        let velocities = (0..count)
            .map(|i| [i as f32, 0.1, -(index as f32)])
            .collect();
        ObjectFrame { points, velocities }
    };
    Ok(vec![object(0, 4), object(1, 3), object(2, 4)])
}

fn animation(frames: usize, first_number: usize) -> Animation<'static> {
    let info = |index| FrameInfo {
        index,
        number: first_number + index,
        time: index as f64 / 24.0,
    };
    Animation {
        objects: objects(),
        frames: (0..frames).map(info).collect(),
        load: &load,
    }
}

const CENTIMETRES_Y_UP: ExportOptions = ExportOptions {
    up: VerticalAxis::Y,
    scale: 100.0,
};

fn y_up_in_centimetres([x, y, z]: [f64; 3]) -> [f64; 3] {
    [x * 100.0, z * 100.0, -y * 100.0]
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Contents of all files, by name.
fn contents(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn numbers<T: std::str::FromStr>(line: &str) -> Vec<T> {
    line.split_whitespace()
        .skip(1)
        .map(|word| word.parse().ok().unwrap())
        .collect()
}

#[test]
fn obj_files_have_the_exact_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_obj(&animation(3, 7), &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap();
    assert_eq!(
        file_names(folder.path()),
        ["demo.0007.obj", "demo.0008.obj", "demo.0009.obj"]
    );
    let text = fs::read_to_string(&paths[2]).unwrap();
    let all = |start: &str| {
        text.lines()
            .filter(|line| line.starts_with(start))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        all("# "),
        [
            "# reefknot frame 2, time: 0.08333333333333333 s",
            "# unit: 0.01 m, up axis: y"
        ]
    );
    assert_eq!(all("o "), ["o cloth", "o rod-1", "o soft_solid"]);
    let points: Vec<Vec<f64>> = all("v ").into_iter().map(numbers).collect();
    let loaded = load(2).unwrap();
    let expected = loaded.iter().flat_map(|object| &object.points);
    let expected: Vec<[f64; 3]> = expected.map(|&point| y_up_in_centimetres(point)).collect();
    assert_eq!(points, expected);
    assert_eq!(all("l "), ["l 5 6", "l 6 7"]);
    let faces: Vec<Vec<usize>> = all("f ").into_iter().map(numbers).collect();
    assert_eq!(faces[..2], [[1, 2, 3], [1, 3, 4]]);
    assert_eq!(
        faces[2..],
        [[8, 10, 9], [8, 9, 11], [8, 11, 10], [9, 10, 11]]
    );
}

/// Bytes of the array with this name, without the length before them.
fn decoded(text: &str, name: &str) -> Vec<u8> {
    let line = text
        .lines()
        .find(|line| line.contains(&format!("Name=\"{name}\"")))
        .unwrap();
    let (_, encoded) = line
        .strip_suffix("</DataArray>")
        .unwrap()
        .rsplit_once('>')
        .unwrap();
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => 0,
    };
    let mut bytes = Vec::new();
    for four in encoded.as_bytes().chunks(4) {
        let bits = four.iter().fold(0, |bits, &byte| bits << 6 | value(byte));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    let padding = encoded.bytes().filter(|&byte| byte == b'=').count();
    bytes.truncate(bytes.len() - padding);
    let (length, data) = bytes.split_first_chunk::<8>().unwrap();
    assert_eq!(u64::from_le_bytes(*length), data.len() as u64);
    data.to_vec()
}

fn decoded_as<T, const N: usize>(text: &str, name: &str, from: fn([u8; N]) -> T) -> Vec<T> {
    decoded(text, name)
        .as_chunks::<N>()
        .0
        .iter()
        .map(|&chunk| from(chunk))
        .collect()
}

#[test]
fn vtu_files_have_the_exact_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_vtk(&animation(2, 1), &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap();
    assert_eq!(paths.len(), 7);
    let (cells, loaded) = ([(5, 3, 2), (3, 2, 2), (10, 4, 1)], load(1).unwrap());
    for (part, object) in objects().iter().enumerate() {
        let path = folder.path().join(format!("demo.{}.0002.vtu", object.name));
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(
            decoded_as(&text, "TimeValue", f64::from_le_bytes),
            [1.0 / 24.0]
        );
        let expected: Vec<[f64; 3]> = loaded[part]
            .points
            .iter()
            .map(|&point| y_up_in_centimetres(point))
            .collect();
        assert_eq!(
            decoded_as(&text, "Points", f64::from_le_bytes),
            expected.as_flattened()
        );
        let velocities = decoded_as(&text, "velocity", f32::from_le_bytes);
        assert_eq!(velocities[3..6], [100.0, -100.0, -10.0]);
        let (kind, width, count) = cells[part];
        assert_eq!(decoded(&text, "types"), vec![kind; count]);
        let ends: Vec<i64> = (1..=count as i64).map(|cell| cell * width).collect();
        assert_eq!(decoded_as(&text, "offsets", i64::from_le_bytes), ends);
        let vertices = decoded_as(&text, "connectivity", i64::from_le_bytes);
        assert_eq!(
            vertices.iter().max(),
            object.largest_vertex().map(i64::from).as_ref()
        );
        assert_eq!(vertices.len() as i64, *ends.last().unwrap());
    }
}

#[test]
fn pvd_lists_every_file_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let options = ExportOptions::default();
    let paths = write_vtk(&animation(3, 1), &options, folder.path(), "demo").unwrap();
    let text = fs::read_to_string(paths.last().unwrap()).unwrap();
    let entries: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("<DataSet"))
        .collect();
    assert_eq!(entries.len(), 9);
    let expected = "<DataSet timestep=\"0.08333333333333333\" part=\"1\" \
                    name=\"rod-1\" file=\"demo.rod-1.0003.vtu\"/>";
    assert_eq!(entries[7], expected);
    for path in &paths[..9] {
        assert!(text.contains(path.file_name().unwrap().to_str().unwrap()));
    }
}

#[test]
fn equal_animations_have_equal_bytes() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for write in [write_obj, write_vtk] {
        let export =
            |folder: &Path| write(&animation(2, 1), &CENTIMETRES_Y_UP, folder, "demo").unwrap();
        assert_eq!(
            contents(&export(first.path())),
            contents(&export(second.path()))
        );
    }
}

#[test]
fn an_export_removes_the_files_of_an_earlier_longer_one_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = [
        "demo-2.0009.obj",
        "demo.0009.mtl",
        "demo.9.obj",
        "demo.obj",
        "demo.x.0009.obj",
        "demo.x.9.vtu",
        "other.pvd",
        "notes.txt",
    ];
    for name in foreign {
        fs::write(folder.path().join(name), b"kept").unwrap();
    }
    for name in [
        "demo.0008.obj.77.tmp",
        "demo.cloth.0008.vtu.77.tmp",
        "demo.gone.0001.vtu",
    ] {
        fs::write(folder.path().join(name), b"an earlier export left this").unwrap();
    }
    for write in [write_obj, write_vtk] {
        write(
            &animation(5, 9_998),
            &CENTIMETRES_Y_UP,
            folder.path(),
            "demo",
        )
        .unwrap();
    }
    assert!(folder.path().join("demo.09998.obj").exists());
    let mut expected: Vec<String> = foreign.map(str::to_string).to_vec();
    for write in [write_obj, write_vtk] {
        let paths = write(&animation(2, 0), &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap();
        let names = paths
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap());
        expected.extend(names.map(str::to_string));
    }
    expected.sort();
    assert_eq!(file_names(folder.path()), expected);
}

#[test]
fn frames_that_do_not_fit_are_refused_with_object_and_frame() {
    let folder = tempfile::tempdir().unwrap();
    type Change = fn(&mut Vec<ObjectFrame>);
    let spoil: [(Change, &str); 4] = [
        (|objects| objects.truncate(1), "1 objects instead of 3"),
        (
            |objects| objects[0].velocities.truncate(2),
            "`cloth` has 4 points but 2 velocities",
        ),
        (
            |objects| {
                objects[1].points.truncate(2);
                objects[1].velocities.truncate(2);
            },
            "`rod-1` has 2 points but uses vertex 2",
        ),
        (
            |objects| objects[2].points[1][2] = f64::NAN,
            "`soft_solid` has a point",
        ),
    ];
    for (change, expected) in spoil {
        let spoiled = |index| {
            let mut objects = load(index)?;
            change(&mut objects);
            Ok(objects)
        };
        let animation = Animation {
            load: &spoiled,
            ..animation(1, 1)
        };
        for write in [write_obj, write_vtk] {
            let error = write(&animation, &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(expected) && message.contains("in frame 0"),
                "{message}"
            );
        }
    }
}

#[test]
fn names_that_are_unsafe_in_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "..", "a/b", "a.b", "ä", "a\"b"] {
        let error =
            write_vtk(&animation(1, 1), &CENTIMETRES_Y_UP, folder.path(), name).unwrap_err();
        assert!(matches!(error, IoError::Export { .. }), "{error}");
        let mut renamed = animation(1, 1);
        renamed.objects[0].name = name.to_string();
        assert!(write_obj(&renamed, &CENTIMETRES_Y_UP, folder.path(), "demo").is_err());
    }
    let mut twice = animation(1, 1);
    twice.objects[1].name = "cloth".to_string();
    let error = write_obj(&twice, &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap_err();
    assert!(
        error.to_string().contains("two objects are named `cloth`"),
        "{error}"
    );
    assert!(file_names(folder.path()).is_empty());
}

#[test]
fn the_error_of_a_folder_that_cannot_be_created_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"x").unwrap();
    for write in [write_obj, write_vtk] {
        let inside = file.join("export");
        let error = write(&animation(1, 1), &CENTIMETRES_Y_UP, &inside, "demo").unwrap_err();
        assert!(
            error.to_string().contains(&inside.display().to_string()),
            "{error}"
        );
    }
}

#[test]
fn the_error_of_loading_a_frame_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = |_| {
        Err(IoError::damaged(
            Path::new("frames/00000.safetensors"),
            "cut",
        ))
    };
    let animation = Animation {
        load: &damaged,
        ..animation(1, 1)
    };
    let error = write_obj(&animation, &CENTIMETRES_Y_UP, folder.path(), "demo").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("frames/00000.safetensors is damaged: cut"),
        "{error}"
    );
}
