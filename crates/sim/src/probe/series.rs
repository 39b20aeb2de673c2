//! Time series of probes, reduced to one value per probe.

use std::f64::consts::TAU;

use serde_json::{Value as Json, json};

use crate::integrate::{IntegratorMethod, method_of};
use crate::model::Integrator;
use crate::model::probe::{Probe, Reduction};

/// Time series of all probes, reduced incrementally.
#[derive(Clone, Debug)]
pub struct ProbeSeries {
    probes: Vec<Series>,
    /// Number of rows so far: the start, and one per step.
    rows: u64,
    /// Time step (s).
    h: f64,
    integrator: Integrator,
}

/// Time series of one probe.
#[derive(Clone, Debug)]
struct Series {
    name: String,
    reduce: Reduction,
    above: Option<f64>,
    threshold: Option<f64>,
    /// First step of the reduced interval.
    begins: u64,
    /// Last step of the reduced interval.
    ends: u64,
    /// Factor and offset of the reduced value.
    affine: [f64; 2],
    /// Factor on the values of all steps.
    scale: f64,
    columns: Vec<Column>,
    /// Largest distance of the vector of all columns from its first value.
    farthest: f64,
}

/// One component of a probe.
#[derive(Clone, Debug)]
struct Column {
    first: f64,
    last: f64,
    least: f64,
    largest: f64,
    sum: f64,
    count: u64,
    /// First step past the threshold.
    passed: Option<u64>,
    /// All values, if the reduction needs them.
    history: Option<Vec<f64>>,
}

impl ProbeSeries {
    /// Empty series of these probes, for steps of `h` seconds.
    #[must_use]
    pub fn new(probes: &[Probe], h: f64, integrator: &Integrator) -> ProbeSeries {
        let series = |probe: &Probe| {
            let is_kept = matches!(
                probe.reduce,
                Reduction::PerStep
                    | Reduction::Frequency
                    | Reduction::Period
                    | Reduction::Precession
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
                // With a margin for rounding of the quotient.
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

    /// Number of columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.probes.iter().map(|series| series.columns.len()).sum()
    }

    /// Adds the row of the next step; the first row is the start. NaN values are ignored.
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

    /// Reduced value of each probe: a number or a vector, with `null` for unknown values.
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
            Reduction::MaxChange => {
                let is_known = series.columns.iter().any(|column| column.count > 0);
                vec![is_known.then_some(series.farthest)]
            }
            Reduction::Period => vec![mean_gap(&peaks(history(0))).map(|gap| gap * self.h)],
            Reduction::Precession => {
                vec![precession(history(0), history(1), TAU * series.scale.abs())]
            }
            _ => series
                .columns
                .iter()
                .map(|column| self.value(series.reduce, column))
                .collect(),
        }
    }

    fn value(&self, reduce: Reduction, column: &Column) -> Option<f64> {
        let Column {
            first, last, count, ..
        } = *column;
        if count == 0 {
            return None;
        }
        match reduce {
            Reduction::Last => Some(last),
            Reduction::First => Some(first),
            Reduction::Min => Some(column.least),
            Reduction::Max => Some(column.largest),
            Reduction::Mean => Some(column.sum / count as f64),
            Reduction::Change => Some(last - first),
            Reduction::WhenBelow | Reduction::WhenAbove => {
                let end = self.rows.saturating_sub(1);
                Some(column.passed.unwrap_or(end) as f64 * self.h)
            }
            Reduction::PerStep => {
                let history = column.history.as_deref().unwrap_or(&[]);
                let half = &history[history.len() / 2..];
                match half {
                    [first, .., last] => Some((last - first) / (half.len() - 1) as f64),
                    _ => None,
                }
            }
            Reduction::AmplitudeRatio => {
                Some((last / first).sqrt()).filter(|ratio| ratio.is_finite())
            }
            Reduction::Frequency => {
                let history = column.history.as_deref().unwrap_or(&[]);
                frequency(history, self.h, method_of(&self.integrator))
            }
            Reduction::MaxChange | Reduction::Period | Reduction::Precession => None,
        }
    }
}

impl Series {
    /// Adds the values of a step.
    fn add(&mut self, step: u64, values: &[f64]) {
        let (reduce, threshold) = (self.reduce, self.threshold);
        let is_past = |value: f64| match (reduce, threshold) {
            (Reduction::WhenBelow, Some(threshold)) => value < threshold,
            (Reduction::WhenAbove, Some(threshold)) => value > threshold,
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
        // `max` ignores NaN.
        self.farthest = self.farthest.max(distance);
    }
}

/// Frequency of a damped oscillation about a mean (1/s), from the second half of a series.
///
/// An oscillation e^{st} becomes zⁿ in steps, so x_{n+1} = a xₙ + b x_{n−1} + c with
/// 1 = a/z + b/z². The coefficients are found by least squares. The integrator relates z to s.
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

/// Solves three linear equations by Gauss-Jordan elimination with pivoting. The fourth column is
/// the right-hand side.
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

/// Local maxima of a series (in steps), each at the vertex of the parabola through three values.
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

/// Mean distance of peaks.
fn mean_gap(peaks: &[f64]) -> Option<f64> {
    match peaks {
        [first, .., last] => Some((last - first) / (peaks.len() - 1) as f64),
        _ => None,
    }
}

/// Mean change of the angle `turn` between peaks of `tilt`. Jumps by a whole turn are removed.
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
    use crate::scene::{Scene, SceneRequest};

    /// Reduced value of a probe with these keys, for rows of a vector at steps of 0.1 s.
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

    const UNKNOWN: [f64; 3] = [f64::NAN; 3];

    #[test]
    fn reductions_start_at_the_given_time() {
        let rows = [
            UNKNOWN,
            [9.0, 9.0, 9.0],
            [1.0, 2.0, 3.0],
            [4.0, 6.0, 3.0],
            UNKNOWN,
            [2.0, 2.0, 3.0],
        ];
        let change = |keys: &str| reduced(keys, &rows);
        // 0.2 s and 0.3 s are not whole numbers of steps in floating point.
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
        // From (1, 2, 3) to (4, 6, 3): a distance of 5.
        assert_eq!(change("reduce = 'max-change'\nfrom = 0.2"), json!(5.0));
        // From (9, 9, 9) to (1, 2, 3). Unknown values before that have no distance.
        let largest = change("reduce = 'max-change'").as_f64().unwrap();
        assert!((largest - 149.0_f64.sqrt()).abs() < 1e-12, "{largest}");
        assert_eq!(change("reduce = 'max'\nfrom = 0.2"), json!([4.0, 6.0, 3.0]));
        // No values are known after the end of the run.
        assert_eq!(change("reduce = 'max-change'\nfrom = 7"), Json::Null);
        assert_eq!(change("from = 7"), json!([null, null, null]));
    }

    #[test]
    fn the_time_of_a_threshold_is_a_step_or_the_end_of_the_run() {
        let rows = [
            UNKNOWN,
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
        // The third component is never below or above 3: the result is the end of the run.
        assert_eq!(when("reduce = 'when-below'\nthreshold = 3"), [3, 1, 4]);
        assert_eq!(when("reduce = 'when-above'\nthreshold = 3"), [1, 3, 4]);
        // Steps before `from` are ignored.
        let later = "reduce = 'when-above'\nthreshold = 3\nfrom = 0.2";
        assert_eq!(when(later), [4, 3, 4]);
        let nothing = reduced("reduce = 'when-below'\nthreshold = 3", &[UNKNOWN]);
        assert_eq!(nothing, json!([null, null, null]));
    }

    #[test]
    fn frequency_is_corrected_for_the_integrator() {
        let (omega, h) = (5.0_f64, 0.05);
        // Implicit Euler for x'' = −ω² x about 0.3, with 0.25 rad per step.
        let (mut x, mut v) = (0.1, 0.0);
        let mut series = vec![x + 0.3];
        for _ in 0..60 {
            v = (v - h * omega * omega * x) / (1.0 + h * h * omega * omega);
            x += h * v;
            series.push(x + 0.3);
        }
        let found = frequency(&series, h, method_of(&Integrator::LinearEuler)).unwrap();
        assert!((found * TAU / omega - 1.0).abs() < 1e-6, "{}", found * TAU);
        let (mut x, mut v) = (0.1, 0.0);
        let mut series = vec![x];
        for _ in 0..60 {
            v -= h * omega * omega * x;
            x += h * v;
            series.push(x);
        }
        let found = frequency(&series, h, method_of(&Integrator::SymplecticEuler)).unwrap();
        assert!((found * TAU / omega - 1.0).abs() < 1e-6, "{}", found * TAU);
    }

    #[test]
    fn a_straight_line_has_no_frequency() {
        let series: Vec<f64> = (0..50).map(f64::from).collect();
        assert_eq!(
            frequency(&series, 0.1, method_of(&Integrator::LinearEuler)),
            None
        );
        assert_eq!(
            frequency(&[1.0; 50], 0.1, method_of(&Integrator::LinearEuler)),
            None
        );
        assert_eq!(
            frequency(&[1.0, 2.0], 0.1, method_of(&Integrator::LinearEuler)),
            None
        );
    }

    #[test]
    fn period_and_precession_are_interpolated_between_steps() {
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
