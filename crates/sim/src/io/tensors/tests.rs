use super::*;
use proptest::prelude::*;

fn sample() -> TensorFile {
    let mut file = TensorFile::new();
    file.set_metadata("format", "1");
    file.set_metadata("note", "quotes \" and \\ and ö");
    file.put_u8("contact/state", &[3], vec![0, 1, 2]);
    file.put_i32("contact/objects", &[1, 2], vec![-1, i32::MAX]);
    file.put_f32(
        "cloth/velocities",
        &[1, 3],
        vec![0.5, -0.0, f32::MIN_POSITIVE],
    );
    file.put_f64("cloth/points", &[1, 3], vec![0.1, -2.0, 1e300]);
    file.put_f64("empty", &[0, 3], Vec::new());
    file
}

fn bytes_of(file: &TensorFile) -> Vec<u8> {
    file.to_bytes(Path::new("sample")).unwrap()
}

fn parse(bytes: &[u8]) -> Result<TensorFile, String> {
    TensorFile::from_bytes(bytes, Path::new("sample"))
}

/// A file with this header and data, and a correct checksum.
fn forged(header_rest: &str, data: &[u8]) -> Vec<u8> {
    let start = "{\"__metadata__\":{\"checksum\":\"";
    let header = format!("{start}{}\"}}{header_rest}}}", "0".repeat(32));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    seal(&mut bytes);
    bytes
}

#[test]
fn a_file_is_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.safetensors");
    sample().write(&path, true).unwrap();
    let file = TensorFile::read(&path).unwrap();
    let names: Vec<&str> = file.names().collect();
    let expected = [
        "cloth/points",
        "cloth/velocities",
        "contact/objects",
        "contact/state",
        "empty",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        file.f64("cloth/points").unwrap(),
        (&[1, 3][..], &[0.1, -2.0, 1e300][..])
    );
    let (shape, velocities) = file.f32("cloth/velocities").unwrap();
    assert_eq!(shape, [1, 3]);
    assert_eq!(velocities[1].to_bits(), (-0.0_f32).to_bits());
    assert_eq!(
        file.i32("contact/objects").unwrap(),
        (&[1, 2][..], &[-1, i32::MAX][..])
    );
    assert_eq!(
        file.u8("contact/state").unwrap(),
        (&[3][..], &[0, 1, 2][..])
    );
    assert_eq!(file.f64("empty").unwrap(), (&[0, 3][..], &[][..]));
    assert_eq!(file.metadata("note"), Some("quotes \" and \\ and ö"));
    assert_eq!(file.metadata(CHECKSUM_KEY), None);
    assert_eq!(bytes_of(&file), std::fs::read(&path).unwrap());
}

#[test]
fn a_file_without_arrays_is_valid() {
    assert_eq!(
        parse(&bytes_of(&TensorFile::new()))
            .unwrap()
            .names()
            .count(),
        0
    );
}

#[test]
fn the_bytes_do_not_depend_on_the_order_of_insertion() {
    let mut file = TensorFile::new();
    file.set_metadata("b", "2");
    file.set_metadata("a", "1");
    file.set_metadata(CHECKSUM_KEY, "ignored");
    file.put_u8("a", &[1], vec![9]);
    file.put_f64("z", &[], vec![1.0]);
    let mut other = TensorFile::new();
    other.put_f64("z", &[], vec![1.0]);
    other.put_u8("a", &[1], vec![9]);
    other.set_metadata("a", "1");
    other.set_metadata("b", "2");
    assert_eq!(bytes_of(&file), bytes_of(&other));
}

#[test]
fn arrays_are_aligned_in_the_file() {
    let bytes = bytes_of(&sample());
    let (header_length, parsed) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header_length % 8, 0);
    for (name, information) in parsed.tensors() {
        let size = information.dtype.bitsize() / 8;
        assert_eq!(information.data_offsets.0 % size, 0, "{name}");
    }
}

#[test]
fn every_flipped_bit_and_every_changed_byte_is_detected() {
    let good = bytes_of(&sample());
    let mut bytes = good.clone();
    for position in 0..good.len() {
        for flip in 1..=255 {
            bytes[position] = good[position] ^ flip;
            assert!(
                parse(&bytes).is_err(),
                "byte {position} changed by {flip:#x}"
            );
        }
        bytes[position] = good[position];
    }
    assert!(parse(&bytes).is_ok());
}

#[test]
fn every_truncation_and_every_extension_is_detected() {
    let good = bytes_of(&sample());
    for length in 0..good.len() {
        assert!(parse(&good[..length]).is_err(), "{length} bytes");
    }
    let mut longer = good;
    longer.push(0);
    assert!(parse(&longer).is_err());
}

#[test]
fn the_error_of_a_truncated_file_has_its_path_and_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.safetensors");
    let good = bytes_of(&sample());
    std::fs::write(&path, &good[..good.len() - 5]).unwrap();
    let message = TensorFile::read(&path).unwrap_err().to_string();
    let expected = format!(
        "{} is damaged: only {} of its {} bytes are there; ",
        path.display(),
        good.len() - 5,
        good.len()
    );
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_missing_file_is_not_reported_as_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let error = TensorFile::read(&folder.path().join("absent")).unwrap_err();
    assert!(matches!(error, IoError::Read { .. }), "{error}");
}

#[test]
fn headers_with_impossible_lengths_are_refused_without_allocating() {
    for length in [u64::MAX, u64::MAX - 7, 1 << 62, 1 << 40, 0] {
        let mut bytes = bytes_of(&sample());
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        assert!(parse(&bytes).is_err(), "{length}");
    }
    let huge = [
        r#","a":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,8]}"#,
        r#","a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]}"#,
        concat!(
            r#","a":{"dtype":"U8","shape":[1152921504606846976],"#,
            r#""data_offsets":[0,1152921504606846976]}"#
        ),
        r#","a":{"dtype":"F64","shape":[1],"data_offsets":[8,0]}"#,
        concat!(
            r#","a":{"dtype":"F64","shape":[1],"#,
            r#""data_offsets":[18446744073709551607,18446744073709551615]}"#
        ),
        r#","a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}"#,
        r#","a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}"#,
        r#","a":[]"#,
        r#","#,
    ];
    for header in huge {
        assert!(parse(&forged(header, &[0; 8])).is_err(), "{header}");
    }
    let sound = r#","a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}"#;
    assert!(parse(&forged(sound, &[0; 8])).is_ok());
}

#[test]
fn errors_of_getters_name_the_file_the_tensor_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.safetensors");
    sample().write(&path, false).unwrap();
    let file = TensorFile::read(&path).unwrap();
    let wrong = file.f64("cloth/velocities").unwrap_err().to_string();
    assert!(wrong.contains(&path.display().to_string()), "{wrong}");
    assert!(
        wrong.contains("`cloth/velocities`") && wrong.contains("f32, not f64"),
        "{wrong}"
    );
    let absent = file.u8("contact/gap").unwrap_err().to_string();
    assert!(
        absent.contains("`contact/gap`") && absent.contains("contact/state"),
        "{absent}"
    );
}

#[test]
fn a_shape_that_does_not_fit_is_refused_on_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.safetensors");
    for shape in [&[2, 3][..], &[usize::MAX, 2], &[]] {
        let mut file = TensorFile::new();
        file.put_f64("points", shape, vec![0.0; 5]);
        let message = file.write(&path, false).unwrap_err().to_string();
        assert!(
            message.contains("`points`") && message.contains("5 values"),
            "{message}"
        );
    }
    let mut file = TensorFile::new();
    file.put_u8("__metadata__", &[0], Vec::new());
    assert!(file.write(&path, false).is_err());
    assert!(!path.exists());
}

#[test]
fn the_error_of_a_failed_write_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let path = file.join("00001.safetensors");
    let message = sample().write(&path, false).unwrap_err().to_string();
    assert!(message.contains(&path.display().to_string()), "{message}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn arbitrary_headers_never_panic(rest in "[\\[\\]{}:,\"a-z0-9]{0,60}") {
        let _ = parse(&forged(&rest, &[0; 8]));
    }
}
