//! quick directions
use glam::DVec3;

#[inline]
pub(super) fn to_triangle(d: &[DVec3; 3]) -> DVec3 {
    let [a, b, c] = *d;
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (-ab.dot(a), -ac.dot(a));
    if d1 <= 0.0 && d2 <= 0.0 { return a; }
    let (d3, d4) = (-ab.dot(b), -ac.dot(b));
    if d3 >= 0.0 && d4 <= d3 { return b; }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 { return a + ab * (d1 / (d1 - d3)); }
    let (d5, d6) = (-ab.dot(c), -ac.dot(c));
    if d6 >= 0.0 && d5 <= d6 { return c; }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 { return a + ac * (d2 / (d2 - d6)); }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 { return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))); }
    let n = ab.cross(ac);
    if n.dot(a) < 0.0 { -n } else { n }
}

#[inline]
pub(super) fn between_edges(x: &[DVec3; 4]) -> DVec3 {
    let (u, v, r) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (a, b, e) = (u.dot(u), u.dot(v), v.dot(v));
    let (c, f) = (u.dot(r), v.dot(r));
    let s = ((b * f - c * e) / (a * e - b * b).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let t = ((b * s + f) / e.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let s = ((b * t - c) / a.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    r + u * s - v * t
}
