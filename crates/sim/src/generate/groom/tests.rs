//! Hair has equal edges and the given lengths, is outside the host, and depends only on the seed.

use super::*;
use crate::generate::sheet::{Cells, grid};
use proptest::prelude::*;

const STYLE: Style = Style {
    roots: Roots::Count(300),
    length: 0.2,
    length_variation: 0.3,
    vertices: 30,
    curl_radius: 0.01,
    curl_pitch: 0.04,
    direction: Some(DVec3::new(0.0, 1.0, -2.0)),
    lean: 0.5,
    stray: 0.3,
    spacing: 0.02,
    seed: 1,
};

/// An icosahedron of radius 1, with faces subdivided and projected to the sphere `cuts` times.
fn icosphere(cuts: usize) -> Mesh {
    let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let mut points = Vec::new();
    for axis in 0..3 {
        for [u, v] in [
            [1.0, golden],
            [-1.0, golden],
            [1.0, -golden],
            [-1.0, -golden],
        ] {
            let mut point = [0.0; 3];
            (point[(axis + 1) % 3], point[(axis + 2) % 3]) = (u, v);
            points.push(DVec3::from(point).normalize());
        }
    }
    let mut triangles = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                let [p, q, r] = [a, b, c].map(|corner: u32| points[corner as usize]);
                // The sides of the icosahedron are 1.05 radii, the next distances 1.70.
                if p.distance(q).max(q.distance(r)).max(r.distance(p)) < 1.3 {
                    let is_outward = (q - p).cross(r - p).dot(p) > 0.0;
                    triangles.push(if is_outward { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    for _ in 0..cuts {
        let mut finer = Vec::new();
        for [a, b, c] in triangles {
            // Points on edges are duplicated, which has no effect here.
            let first = points.len() as u32;
            for [from, to] in [[a, b], [b, c], [c, a]] {
                points.push((points[from as usize] + points[to as usize]).normalize());
            }
            let [ab, bc, ca] = [first, first + 1, first + 2];
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    Mesh {
        points,
        triangles,
        ..Mesh::default()
    }
}

fn surface(mesh: &Mesh) -> HostSurface<'_> {
    HostSurface {
        points: &mesh.points,
        triangles: &mesh.triangles,
    }
}

/// A groom on a horizontal square of 1 m².
fn flat(style: &Style) -> GroomedRods {
    groom(&surface(&grid([1.0, 1.0], [2, 2], Cells::Right)), style).unwrap()
}

fn rods<'a>(groom: &'a GroomedRods, style: &Style) -> impl Iterator<Item = &'a [DVec3]> + use<'a> {
    groom.mesh.points.chunks(style.vertices)
}

#[test]
fn edges_are_equal_and_lengths_as_given() {
    let style = Style {
        length_variation: 0.0,
        ..STYLE
    };
    for rod in rods(&flat(&style), &style) {
        let edges: Vec<f64> = rod
            .windows(2)
            .map(|ends| ends[0].distance(ends[1]))
            .collect();
        assert!((edges.iter().sum::<f64>() / 0.2 - 1.0).abs() < 1e-9);
        assert!(
            edges
                .iter()
                .all(|edge| (edge * 29.0 / 0.2 - 1.0).abs() < 1e-9)
        );
    }
    let lengths = rods(&flat(&STYLE), &STYLE)
        .map(|rod| rod.windows(2).map(|ends| ends[0].distance(ends[1])).sum())
        .collect::<Vec<f64>>();
    // The extremes of 300 uniform numbers are near the ends of their range.
    let (least, most) = lengths
        .iter()
        .fold((1.0_f64, 0.0_f64), |(least, most), &length| {
            (least.min(length), most.max(length))
        });
    assert!(
        (0.14..0.146).contains(&least) && (0.254..0.26).contains(&most),
        "{least} {most}"
    );
}

#[test]
fn rods_start_at_their_roots_and_roots_keep_their_spacing() {
    let sphere = icosphere(2);
    let groom = groom(&surface(&sphere), &STYLE).unwrap();
    assert_eq!((groom.roots.len(), groom.mesh.curves.len()), (300, 300));
    let places: Vec<DVec3> = groom
        .roots
        .iter()
        .map(|root| root.position(&surface(&sphere)))
        .collect();
    for (index, (curve, place)) in groom.mesh.curves.iter().zip(&places).enumerate() {
        assert_eq!(groom.mesh.points[curve.first as usize], *place);
        assert!(!curve.closed && curve.count == 30);
        assert!(
            places[..index]
                .iter()
                .all(|other| other.distance(*place) >= STYLE.spacing)
        );
    }
    assert_eq!(groom.mesh.groups[0].vertices[..3], [0, 30, 60]);
    assert_eq!(groom.mesh.groups[1].vertices[299], 300 * 30 - 1);
}

#[test]
fn the_number_of_roots_is_density_times_area() {
    let style = Style {
        roots: Roots::Density(400.0),
        ..STYLE
    };
    assert_eq!(flat(&style).roots.len(), 400);
}

#[test]
fn lean_turns_hair_towards_the_direction_up_to_the_minimum_elevation() {
    let first_edge = |lean: f64, direction: DVec3| {
        let style = Style {
            lean,
            direction: Some(direction),
            stray: 0.0,
            length_variation: 0.0,
            roots: Roots::Count(1),
            ..STYLE
        };
        let groom = flat(&style);
        (groom.mesh.points[1] - groom.mesh.points[0]) * 29.0 / 0.2
    };
    let low = DVec3::new((1.0 - MIN_SINE * MIN_SINE).sqrt(), 0.0, MIN_SINE);
    let is_near = |found: DVec3, wanted: DVec3| {
        assert!(found.distance(wanted) < 1e-9, "{found}, not {wanted}");
    };
    is_near(first_edge(0.0, DVec3::X), DVec3::Z);
    is_near(
        first_edge(1.0, DVec3::new(3.0, 0.0, 4.0)),
        DVec3::new(0.6, 0.0, 0.8),
    );
    is_near(first_edge(1.0, DVec3::X), low);
    is_near(first_edge(1.0, DVec3::new(1.0, 0.0, -1.0)), low);
    is_near(first_edge(0.5, DVec3::X), (low + DVec3::Z).normalize());
    is_near(first_edge(1.0, DVec3::NEG_Z), DVec3::Z);
}

#[test]
fn stray_hair_has_the_given_tilt() {
    let style = Style {
        roots: Roots::Count(4000),
        direction: None,
        stray: 0.2,
        spacing: 0.0,
        ..STYLE
    };
    let groom = flat(&style);
    let tilt = |rod: &[DVec3]| (rod[1] - rod[0]).angle_between(DVec3::Z).powi(2);
    let mean = rods(&groom, &style).map(tilt).sum::<f64>() / 4000.0;
    // The square of the tilt is exponentially distributed: its mean of 4000 deviates by 1/√4000.
    assert!(
        (mean.sqrt() / 0.2 - 1.0).abs() < 4.0 * 0.5 / 4000.0_f64.sqrt(),
        "{}",
        mean.sqrt()
    );
}

#[test]
fn curls_have_their_radius_pitch_and_hand() {
    for pitch in [0.04, -0.04] {
        let style = Style {
            direction: None,
            stray: 0.0,
            curl_pitch: pitch,
            vertices: 200,
            length: 0.5,
            ..STYLE
        };
        for rod in rods(&flat(&style), &style) {
            // After one turn the radius is constant. The root is on the axis, which is vertical.
            let curled: Vec<DVec3> = rod.iter().map(|vertex| *vertex - rod[0]).collect();
            let curled: Vec<&DVec3> = curled.iter().skip_while(|vertex| vertex.z < 0.05).collect();
            let mut turned = 0.0;
            for pair in curled.windows(2) {
                assert!((pair[0].truncate().length() - 0.01).abs() < 1e-12);
                turned += pair[0].truncate().angle_to(pair[1].truncate());
            }
            let climbed = curled[curled.len() - 1].z - curled[0].z;
            assert!(
                (turned / TAU - climbed / pitch).abs() < 1e-9,
                "{turned} {climbed}"
            );
        }
    }
}

#[test]
fn the_bits_depend_on_the_seed_and_not_on_the_number_of_threads() {
    let sphere = icosphere(2);
    let with_threads = |threads: usize, style: &Style| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| groom(&surface(&sphere), style)).unwrap()
    };
    let bits = |groom: &GroomedRods| -> Vec<u64> {
        let numbers = groom.mesh.points.iter().flat_map(|point| point.to_array());
        numbers.map(f64::to_bits).collect()
    };
    let once = with_threads(1, &STYLE);
    assert_eq!(bits(&once), bits(&with_threads(3, &STYLE)));
    let more = Style {
        roots: Roots::Count(500),
        ..STYLE
    };
    let more = with_threads(3, &more);
    assert_eq!(bits(&once), bits(&more)[..300 * 30 * 3]);
    assert_eq!(once.roots, more.roots[..300]);
    let other = with_threads(1, &Style { seed: 2, ..STYLE });
    assert!(
        once.roots
            .iter()
            .zip(&other.roots)
            .all(|(one, other)| one != other)
    );
}

#[test]
fn the_error_of_a_full_surface_has_the_number_of_roots() {
    let style = Style {
        spacing: 0.2,
        ..STYLE
    };
    let square = grid([1.0, 1.0], [2, 2], Cells::Right);
    let error = groom(&surface(&square), &style).unwrap_err();
    assert!(
        error.ends_with("of 300 roots fit with a spacing of 0.2 m"),
        "{error}"
    );
    // Discs of diameter 0.2 in a square of 1.2² cover from 0.5 (random) to 0.91 (optimal): 23 to
    // 41 discs.
    let count: usize = error.split(' ').nth(1).unwrap().parse().unwrap();
    assert!((20..42).contains(&count), "{error}");
}

#[test]
fn invalid_styles_are_refused() {
    let square = grid([1.0, 1.0], [2, 2], Cells::Right);
    let broken: [fn(&mut Style); 12] = [
        |style| style.roots = Roots::Count(0),
        |style| style.roots = Roots::Count(usize::MAX),
        |style| style.roots = Roots::Density(f64::NAN),
        |style| style.roots = Roots::Density(1e300),
        |style| style.length = 0.0,
        |style| style.length_variation = 1.0,
        |style| style.vertices = 1,
        |style| style.curl_pitch = 0.0,
        |style| style.direction = Some(DVec3::ZERO),
        |style| style.lean = 1.5,
        |style| style.stray = f64::INFINITY,
        |style| style.spacing = -1.0,
    ];
    for (index, change) in broken.iter().enumerate() {
        let mut style = STYLE;
        change(&mut style);
        assert!(groom(&surface(&square), &style).is_err(), "{index}");
    }
    let coarse = Style {
        vertices: 10,
        ..STYLE
    };
    // A turn is √(0.04² + (2π 0.01)²) = 0.0745 long, and 0.26 m of hair have 3.49 of them.
    let error = groom(&surface(&square), &coarse).unwrap_err();
    assert!(error.ends_with("take at least 15 vertices"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn hair_on_a_convex_surface_is_outside(
        direction in prop::array::uniform3(-1.0..1.0), lean in 0.0..=1.0, stray in 0.0..2.0,
        curl_radius in 0.0..0.05, curl_pitch in 0.02..0.2, seed: u64,
    ) {
        let sphere = icosphere(1);
        let faces: Vec<[DVec3; 2]> = sphere.triangles.iter().map(|corners| {
            let [a, b, c] = corners.map(|corner| sphere.points[corner as usize]);
            [a, (b - a).cross(c - a).normalize()]
        }).collect();
        let height = |point: DVec3| {
            let above = |[corner, normal]: &[DVec3; 2]| (point - *corner).dot(*normal);
            faces.iter().map(above).fold(f64::NEG_INFINITY, f64::max)
        };
        // The polyhedron is convex: no corner is above any face.
        prop_assert!(sphere.points.iter().all(|point| height(*point) < 1e-12));
        let style = Style {
            roots: Roots::Count(50),
            vertices: 80,
            direction: Some(DVec3::from(direction)),
            lean, stray, curl_radius, curl_pitch, seed, ..STYLE
        };
        let groom = groom(&surface(&sphere), &style).unwrap();
        for rod in rods(&groom, &style) {
            prop_assert!(height(rod[0]).abs() < 1e-12);
            // The first edge has a height of at least 0.14 m / 79 · 0.15.
            prop_assert!(rod[1..].iter().all(|point| height(*point) > 1e-5));
        }
    }
}
