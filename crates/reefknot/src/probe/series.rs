//! The values of probes over a run, and what they come to.

use std::f64::consts::TAU;

use serde_json::{Value as Json, json};

use super::Probe;
use crate::integrate::IntegratorMethod;
use crate::scene::tables::{Integrator, Reduce};

/// The series of all probes so far, reduced as it grows.
#[derive(Clone, Debug)]
pub struct ProbeSeries {
    probes: Vec<Series>,
    /// Rows so far: one for each step, and one for the start.
    rows: u64,
    /// How long a step is (s).
    h: f64,
    integrator: Integrator,
}

/// The series of one probe.
#[derive(Clone, Debug)]
struct Series {
    name: String,
    reduce: Reduce,
    above: Option<f64>,
    threshold: Option<f64>,
    /// The steps with which it begins and ends.
    begins: u64,
    ends: u64,
    /// Factor on its value, and what is added then.
    affine: [f64; 2],
    /// The factor on its values.
    scale: f64,
    columns: Vec<Column>,
    /// The largest distance of its value, as a vector, from the first.
    farthest: f64,
}

#[derive(Clone, Debug)]
struct Column {
    first: f64,
    last: f64,
    least: f64,
    largest: f64,
    sum: f64,
    count: u64,
    /// The first step at which it was past the threshold.
    passed: Option<u64>,
    /// All values, where they are needed.
    history: Option<Vec<f64>>,
}

impl ProbeSeries {
    /// An empty series for these probes, at steps of `h` seconds of an integrator.
    #[must_use]
    pub fn new(probes: &[Probe], h: f64, integrator: &Integrator) -> ProbeSeries {
        let series = |probe: &Probe| {
            let is_kept = matches!(
                probe.reduce,
                Reduce::PerStep | Reduce::Frequency | Reduce::Period | Reduce::Precession
            );
            let column = Column {
                first: f64::NAN,
                last: f64::NAN,
                least: f64::INFINITY,
                largest: f64::NEG_INFINITY,
                sum: 0.0,
                count: 0,
                passed: None,
                history: is_kept.then(Vec::new),
            };
            Series {
                name: probe.name.clone(),
                reduce: probe.reduce,
                above: probe.above,
                threshold: probe.threshold,
                // Less a little, since the quotient of whole steps may be rounded up.
                begins: (probe.from / h - 1e-6).ceil() as u64,
                ends: (probe.until / h + 1e-6).floor() as u64,
                affine: probe.affine,
                scale: probe.scale,
                columns: vec![column; probe.columns().len()],
                farthest: 0.0,
            }
        };
        ProbeSeries {
            probes: probes.iter().map(series).collect(),
            rows: 0,
            h,
            integrator: integrator.clone(),
        }
    }

    /// How many columns a row has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.probes.iter().map(|series| series.columns.len()).sum()
    }

    /// Takes in the row of the next step, that of the start first; values that are not known are passed over.
    pub fn add(&mut self, row: &[f64]) {
        let mut values = row.iter();
        for series in &mut self.probes {
            let own: Vec<f64> = values
                .by_ref()
                .take(series.columns.len())
                .copied()
                .collect();
            if (series.begins..=series.ends).contains(&self.rows) {
                series.add(self.rows, &own);
            }
        }
        self.rows += 1;
    }

    /// The value of each probe: a number or a vector, `null` where nothing is known.
    #[must_use]
    pub fn summary(&self) -> Json {
        let mut result = serde_json::Map::new();
        for series in &self.probes {
            let values: Vec<Option<f64>> = self.values(series);
            let values: Vec<Json> = values
                .into_iter()
                .map(|value| value.map(|value| series.affine[0] * value + series.affine[1]))
                .map(|value| match (value, series.above) {
                    (None, _) => Json::Null,
                    (Some(value), Some(limit)) => json!(u8::from(value > limit)),
                    (Some(value), None) => json!(value),
                })
                .collect();
            let value = match values.as_slice() {
                [single] => single.clone(),
                _ => Json::Array(values),
            };
            result.insert(series.name.clone(), value);
        }
        Json::Object(result)
    }

    fn values(&self, series: &Series) -> Vec<Option<f64>> {
        let history = |column: usize| {
            let column = series.columns.get(column);
            column
                .and_then(|column| column.history.as_deref())
                .unwrap_or(&[])
        };
        match series.reduce {
            Reduce::MaxChange => {
                let is_known = series.columns.iter().any(|column| column.count > 0);
                vec![is_known.then_some(series.farthest)]
            }
            Reduce::Period => vec![mean_gap(&peaks(history(0))).map(|gap| gap * self.h)],
            Reduce::Precession => {
                vec![precession(history(0), history(1), TAU * series.scale.abs())]
            }
            _ => series
                .columns
                .iter()
                .map(|column| self.value(series.reduce, column))
                .collect(),
        }
    }

    fn value(&self, reduce: Reduce, column: &Column) -> Option<f64> {
        let Column {
            first, last, count, ..
        } = *column;
        if count == 0 {
            return None;
        }
        match reduce {
            Reduce::Last => Some(last),
            Reduce::First => Some(first),
            Reduce::Min => Some(column.least),
            Reduce::Max => Some(column.largest),
            Reduce::Mean => Some(column.sum / count as f64),
            Reduce::Change => Some(last - first),
            Reduce::WhenBelow | Reduce::WhenAbove => {
                let end = self.rows.saturating_sub(1);
                Some(column.passed.unwrap_or(end) as f64 * self.h)
            }
            Reduce::PerStep => {
                let history = column.history.as_deref().unwrap_or(&[]);
                let half = &history[history.len() / 2..];
                match half {
                    [first, .., last] => Some((last - first) / (half.len() - 1) as f64),
                    _ => None,
                }
            }
            Reduce::AmplitudeRatio => Some((last / first).sqrt()).filter(|ratio| ratio.is_finite()),
            Reduce::Frequency => {
                let history = column.history.as_deref().unwrap_or(&[]);
                frequency(history, self.h, self.integrator.method())
            }
            Reduce::MaxChange | Reduce::Period | Reduce::Precession => None,
        }
    }
}

impl Series {
    /// Takes in the values at the end of a step.
    fn add(&mut self, step: u64, values: &[f64]) {
        let (reduce, threshold) = (self.reduce, self.threshold);
        let is_past = |value: f64| match (reduce, threshold) {
            (Reduce::WhenBelow, Some(threshold)) => value < threshold,
            (Reduce::WhenAbove, Some(threshold)) => value > threshold,
            _ => false,
        };
        let known = self.columns.iter_mut().zip(values);
        for (column, &value) in known.filter(|(_, value)| !value.is_nan()) {
            if column.count == 0 {
                column.first = value;
            }
            column.last = value;
            column.least = column.least.min(value);
            column.largest = column.largest.max(value);
            column.sum += value;
            column.count += 1;
            if column.passed.is_none() && is_past(value) {
                column.passed = Some(step);
            }
            if let Some(history) = &mut column.history {
                history.push(value);
            }
        }
        let changes = self.columns.iter().zip(values);
        let distance = changes.fold(0.0_f64, |sum, (column, value)| {
            sum.hypot(value - column.first)
        });
        // `max` passes over what is not known.
        self.farthest = self.farthest.max(distance);
    }
}

/// The frequency of a damped oscillation about a mean (1/s), from the second half of a series.
///
/// An oscillation e^{st} becomes zⁿ in steps, so that x_{n+1} = a xₙ + b x_{n−1} + c with 1 = a/z + b/z². The coefficients are
/// those of least squares. What 1/z is depends on the integrator.
fn frequency(series: &[f64], h: f64, integrator: &dyn IntegratorMethod) -> Option<f64> {
    let half = &series[series.len() / 2..];
    let mean = half.iter().sum::<f64>() / half.len().max(1) as f64;
    let scale = half.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
    if half.len() < 6 || scale == 0.0 {
        return None;
    }
    let x: Vec<f64> = half.iter().map(|x| (x - mean) / scale).collect();
    let mut normal = [[0.0; 4]; 3];
    for window in x.windows(3) {
        let row = [window[1], window[0], 1.0, window[2]];
        for i in 0..3 {
            for j in 0..4 {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let [a, b, _] = solve3(normal)?;
    // Roots w = 1/z of b w² + a w − 1 = 0.
    let discriminant = -(a * a + 4.0 * b);
    if discriminant <= 0.0 {
        return None;
    }
    let (real, imaginary) = (-a / (2.0 * b), discriminant.sqrt() / (2.0 * b).abs());
    Some(integrator.angular_frequency([real, imaginary], h) / TAU)
}

/// Solves three equations, with the right-hand side as the fourth column, by elimination with pivots.
fn solve3(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for i in 0..3 {
        let largest = (i..3).max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs()))?;
        rows.swap(i, largest);
        if rows[i][i] == 0.0 {
            return None;
        }
        for k in 0..3 {
            if k != i {
                let factor = rows[k][i] / rows[i][i];
                for j in 0..4 {
                    rows[k][j] -= factor * rows[i][j];
                }
            }
        }
    }
    Some([0, 1, 2].map(|i| rows[i][3] / rows[i][i]))
}

/// Where a series is largest among its neighbours, in steps, by the parabola through three values. The start counts if the
/// series falls from there at once.
fn peaks(series: &[f64]) -> Vec<f64> {
    let mut peaks = Vec::new();
    for (step, window) in series.windows(3).enumerate() {
        let [before, here, after] = [window[0], window[1], window[2]];
        if here > before && here >= after {
            peaks.push(step as f64 + 1.0 + 0.5 * (before - after) / (before - 2.0 * here + after));
        }
    }
    peaks
}

fn mean_gap(peaks: &[f64]) -> Option<f64> {
    match peaks {
        [first, .., last] => Some((last - first) / (peaks.len() - 1) as f64),
        _ => None,
    }
}

/// The mean change of an angle, which jumps by a whole turn, between peaks of another series.
fn precession(tilt: &[f64], turn: &[f64], whole: f64) -> Option<f64> {
    let mut angles = Vec::with_capacity(turn.len());
    let mut angle = *turn.first()?;
    for value in turn {
        let change: f64 = value - angle;
        angle += change - whole * (change / whole).round();
        angles.push(angle);
    }
    let at = |place: f64| {
        let step = (place.floor() as usize).min(angles.len().checked_sub(2)?);
        let part = place - step as f64;
        Some(angles[step] + part * (angles[step + 1] - angles[step]))
    };
    let peaks = peaks(tilt);
    let (first, last) = (*peaks.first()?, *peaks.last()?);
    (peaks.len() > 1).then_some(())?;
    Some((at(last)? - at(first)?) / (peaks.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::scene::tables::{LinearEuler, SymplecticEuler};
    use crate::scene::{Scene, SceneRequest};

    /// The value of a probe with these keys, after rows of a vector at steps of 0.1 s.
    fn reduced(keys: &str, rows: &[[f64; 3]]) -> Json {
        let text = format!(
            r#"
            time = {{ duration = "1 s", frame_rate = 10, substeps = 1 }}
            material.stuff = {{ young = "1 MPa", thickness = "1 mm", density = 1000 }}
            [object.sheet]
            kind = "cloth-grid"
            size = [1, 1]
            vertices = [2, 2]
            material = "stuff"
            [probe.it]
            measure = {{ contact_force = {{ object = "sheet" }} }}
            {keys}"#
        );
        let request = SceneRequest {
            text,
            ..SceneRequest::default()
        };
        let model = Model::build(&Scene::read(&request).unwrap()).unwrap();
        let mut series = ProbeSeries::new(&model.probes, 0.1, &model.method.integrator);
        rows.iter().for_each(|row| series.add(row));
        series.summary()["it"].clone()
    }

    const NOTHING: [f64; 3] = [f64::NAN; 3];

    #[test]
    fn changes_are_counted_from_the_time_given() {
        let rows = [
            NOTHING,
            [9.0, 9.0, 9.0],
            [1.0, 2.0, 3.0],
            [4.0, 6.0, 3.0],
            NOTHING,
            [2.0, 2.0, 3.0],
        ];
        let change = |keys: &str| reduced(keys, &rows);
        // 0.2 s is no whole number of steps in floating point, and neither is 0.3 s.
        assert_eq!(
            change("reduce = 'first'\nfrom = 0.2"),
            json!([1.0, 2.0, 3.0])
        );
        assert_eq!(
            change("reduce = 'first'\nfrom = 0.3"),
            json!([4.0, 6.0, 3.0])
        );
        assert_eq!(
            change("reduce = 'change'\nfrom = 0.2"),
            json!([1.0, 0.0, 0.0])
        );
        // From (1, 2, 3) to (4, 6, 3): a way of 5.
        assert_eq!(change("reduce = 'max-change'\nfrom = 0.2"), json!(5.0));
        // From (9, 9, 9) to (1, 2, 3); what comes before the first known value has no distance.
        let largest = change("reduce = 'max-change'").as_f64().unwrap();
        assert!((largest - 149.0_f64.sqrt()).abs() < 1e-12, "{largest}");
        assert_eq!(change("reduce = 'max'\nfrom = 0.2"), json!([4.0, 6.0, 3.0]));
        // After the end of the run nothing is known.
        assert_eq!(change("reduce = 'max-change'\nfrom = 7"), Json::Null);
        assert_eq!(change("from = 7"), json!([null, null, null]));
    }

    #[test]
    fn a_threshold_is_passed_at_a_step_or_never() {
        let rows = [
            NOTHING,
            [5.0, 0.0, 3.0],
            [3.0, 1.0, 3.0],
            [1.0, 4.0, 3.0],
            [5.0, 0.0, 3.0],
        ];
        let when = |keys: &str| {
            let times = reduced(keys, &rows);
            let times = times.as_array().unwrap().iter();
            let steps = times.map(|time| (time.as_f64().unwrap() / 0.1).round() as u64);
            steps.collect::<Vec<u64>>()
        };
        // The third is never below 3, nor above it: the end of the run.
        assert_eq!(when("reduce = 'when-below'\nthreshold = 3"), [3, 1, 4]);
        assert_eq!(when("reduce = 'when-above'\nthreshold = 3"), [1, 3, 4]);
        // Only steps from `from` on count.
        let later = "reduce = 'when-above'\nthreshold = 3\nfrom = 0.2";
        assert_eq!(when(later), [4, 3, 4]);
        let nothing = reduced("reduce = 'when-below'\nthreshold = 3", &[NOTHING]);
        assert_eq!(nothing, json!([null, null, null]));
    }

    #[test]
    fn frequency_is_that_of_the_oscillation_and_not_of_the_steps() {
        let (omega, h) = (5.0_f64, 0.05);
        // Implicit Euler of x'' = −ω² x about 0.3, with a quarter of a radian a step.
        let (mut x, mut v) = (0.1, 0.0);
        let mut series = vec![x + 0.3];
        for _ in 0..60 {
            v = (v - h * omega * omega * x) / (1.0 + h * h * omega * omega);
            x += h * v;
            series.push(x + 0.3);
        }
        let found = frequency(&series, h, &LinearEuler {}).unwrap();
        assert!((found * TAU / omega - 1.0).abs() < 1e-6, "{}", found * TAU);
        let (mut x, mut v) = (0.1, 0.0);
        let mut series = vec![x];
        for _ in 0..60 {
            v -= h * omega * omega * x;
            x += h * v;
            series.push(x);
        }
        let found = frequency(&series, h, &SymplecticEuler {}).unwrap();
        assert!((found * TAU / omega - 1.0).abs() < 1e-6, "{}", found * TAU);
    }

    #[test]
    fn nothing_oscillates_in_a_straight_line() {
        let series: Vec<f64> = (0..50).map(f64::from).collect();
        assert_eq!(frequency(&series, 0.1, &LinearEuler {}), None);
        assert_eq!(frequency(&[1.0; 50], 0.1, &LinearEuler {}), None);
        assert_eq!(frequency(&[1.0, 2.0], 0.1, &LinearEuler {}), None);
    }

    #[test]
    fn peaks_and_turns_are_found_between_steps() {
        let time = |step: usize| step as f64 * 0.01;
        let tilt: Vec<f64> = (0..1000)
            .map(|step| (TAU * time(step) / 1.3 + 0.4).cos())
            .collect();
        let period = mean_gap(&peaks(&tilt)).unwrap() * 0.01;
        assert!((period - 1.3).abs() < 1e-5, "{period}");
        let turn = |step: usize| {
            let angle = 4.0 * time(step);
            f64::sin(angle).atan2(f64::cos(angle))
        };
        let turns: Vec<f64> = (0..1000).map(turn).collect();
        let found = precession(&tilt, &turns, TAU).unwrap();
        assert!((found - 4.0 * 1.3).abs() < 1e-4, "{found}");
        let degrees: Vec<f64> = turns.iter().map(|turn| turn.to_degrees()).collect();
        let found = precession(&tilt, &degrees, 360.0).unwrap();
        assert!(
            (found - (4.0_f64 * 1.3).to_degrees()).abs() < 1e-2,
            "{found}"
        );
    }
}
