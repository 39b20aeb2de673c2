//! Builds probes and conclusions.

use glam::{DMat3, DVec3};

use super::Builder;
use crate::model::Model;
use crate::model::probe::{
    Conclusion, Condition, ContactFilter, MeasuredQuantity, PointSet, Probe,
};
use crate::scene::tables::{self, Measure, Reduce};
use crate::scene::values::{NamedItem, Placed};

/// Builds a probe.
pub(super) fn probe(
    item: &NamedItem<tables::Probe>,
    model: &Model,
    builder: &mut Builder<'_>,
) -> Option<Probe> {
    let table = &item.value;
    let mut names = Names {
        item,
        model,
        builder,
    };
    let quantity = names.quantity(&table.measure)?;
    let is_swing = matches!(quantity, MeasuredQuantity::Swing(..));
    if (table.reduce == Reduce::Precession) && !is_swing {
        let message = format!("`probe.{}`: \"precession\" needs a `swing`", item.name);
        let advice = "measure a `swing`, or use another `reduce`";
        builder.problem(&item.place, message, advice);
        return None;
    }
    let has_limit = matches!(table.reduce, Reduce::WhenBelow | Reduce::WhenAbove);
    if has_limit && table.threshold.is_none() {
        let word = table.reduce.word();
        let message = format!("`probe.{}`: \"{word}\" needs a `threshold`", item.name);
        builder.problem(&item.place, message, "add `threshold = ...`");
        return None;
    }
    Some(Probe {
        name: item.name.clone(),
        reduce: table.reduce.into(),
        above: table.above,
        from: table.from.0,
        until: table.until.map_or(f64::INFINITY, |until| until.0),
        affine: [table.factor, table.offset],
        threshold: table.threshold,
        along: table
            .along
            .as_ref()
            .map(|along| DVec3::from_array(along.value)),
        scale: table.scale,
        quantity,
    })
}

/// Builds a conclusion. Unknown probes are reported.
pub(super) fn conclusion(
    table: &tables::Conclusion,
    probes: &[&str],
    builder: &mut Builder<'_>,
) -> Option<Conclusion> {
    let condition = table.probe.as_ref().map(|probe| Condition {
        probe: probe.value.clone(),
        above: table.above.unwrap_or(f64::NEG_INFINITY),
        below: table.below.unwrap_or(f64::INFINITY),
    });
    let conclusion = Conclusion {
        text: table.text.value.clone(),
        condition,
    };
    let mut complete = true;
    for name in conclusion.named_probes() {
        let name = Placed {
            value: name.to_owned(),
            place: table.text.place.clone(),
        };
        complete &= builder.find("probe", &name, probes).is_some();
    }
    if let Some(probe) = &table.probe {
        complete &= builder.find("probe", probe, probes).is_some();
    } else if table.above.is_some() || table.below.is_some() {
        let message = "a conclusion with `above` or `below` needs a `probe`".to_owned();
        builder.problem(&table.text.place, message, "add `probe = \"NAME\"`");
        complete = false;
    }
    complete.then_some(conclusion)
}

/// Resolves the names in the table of a probe.
struct Names<'a, 'b, 'c> {
    item: &'a NamedItem<tables::Probe>,
    model: &'a Model,
    builder: &'b mut Builder<'c>,
}

impl Names<'_, '_, '_> {
    fn quantity(&mut self, measure: &Measure) -> Option<MeasuredQuantity> {
        Some(match measure {
            Measure::Position(points) => MeasuredQuantity::Position(self.points(points)?),
            Measure::Displacement(points) => MeasuredQuantity::Displacement(self.points(points)?),
            Measure::Velocity(points) => MeasuredQuantity::Velocity(self.points(points)?),
            Measure::Distance(pair) => {
                let (from, to) = (self.points(&pair.from), self.points(&pair.to));
                MeasuredQuantity::Distance(from?, to?)
            }
            Measure::Rotation(turn) => {
                let axis = self
                    .builder
                    .direction(&turn.axis, "the axis must not be zero");
                MeasuredQuantity::Rotation(self.points(&turn.of)?, axis?)
            }
            Measure::Swing(swing) => {
                let center = DVec3::from_array(swing.center.map(|length| length.0));
                MeasuredQuantity::Swing(self.points(&swing.of)?, center)
            }
            Measure::OutOfPlane(plane) => {
                let normal = self
                    .builder
                    .direction(&plane.normal, "the normal must not be zero");
                MeasuredQuantity::OutOfPlane(self.object(&plane.object)?, normal?)
            }
            Measure::MapError(map) => {
                let rows = DMat3::from_cols_array_2d(&map.rows).transpose();
                MeasuredQuantity::MapError(self.object(&map.object)?, rows)
            }
            Measure::PinForce(pin) => {
                let pins: Vec<&str> = self
                    .model
                    .pins
                    .iter()
                    .map(|pin| pin.name.as_str())
                    .collect();
                MeasuredQuantity::PinForce(self.builder.find("pin", pin, &pins)?)
            }
            Measure::ContactForce(filter) => MeasuredQuantity::ContactForce(self.filter(filter)?),
            Measure::ContactTorque(filter) => MeasuredQuantity::ContactTorque(self.filter(filter)?),
            Measure::Contacts(filter) => MeasuredQuantity::Contacts(self.filter(filter)?),
            Measure::Gap(filter) => MeasuredQuantity::Gap(self.filter(filter)?),
            Measure::Energy(kind) => MeasuredQuantity::Energy((*kind).into()),
            Measure::MomentumDrift(kind) => MeasuredQuantity::MomentumDrift((*kind).into()),
            Measure::MaxStretch(object) => MeasuredQuantity::MaxStretch(self.object(object)?),
            Measure::Weight(names) => {
                let objects: Vec<Option<usize>> =
                    names.iter().map(|name| self.object(name)).collect();
                MeasuredQuantity::Weight(objects.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    fn object(&mut self, name: &Placed<String>) -> Option<usize> {
        let objects: Vec<&str> = self.model.objects.iter().map(|o| o.name.as_str()).collect();
        self.builder.find("object", name, &objects)
    }

    fn filter(&mut self, table: &tables::ContactFilter) -> Option<ContactFilter> {
        let object = self.object(&table.object);
        let other = match &table.other {
            Some(name) => Some(self.object(name)?),
            None => None,
        };
        Some(ContactFilter {
            object: object?,
            other,
        })
    }

    fn points(&mut self, table: &tables::Points) -> Option<PointSet> {
        let index = self.object(&table.object)?;
        let object = &self.model.objects[index];
        let vertices = match (&table.vertex, &table.at) {
            (Some(vertex), None) => {
                let count = object.mesh.points.len();
                if vertex.value >= count as u64 {
                    let message = format!("`{}` has no vertex {}", object.name, vertex.value);
                    let advice = format!("its vertices are 0 to {}", count - 1);
                    self.builder.problem(&vertex.place, message, advice);
                    return None;
                }
                vec![vertex.value as u32]
            }
            (None, Some(at)) => {
                let who = format!("probe.{}", self.item.name);
                self.builder.selected(at, object, &who)?
            }
            (vertex, _) => {
                let who = format!("`probe.{}`", self.item.name);
                let message = match vertex {
                    Some(_) => format!("{who} has both `vertex` and `at`"),
                    None => format!("{who} selects no vertices of `{}`", object.name),
                };
                let advice = "give `vertex`, or `at` for the mean of several";
                self.builder.problem(&table.object.place, message, advice);
                return None;
            }
        };
        Some(PointSet {
            object: index,
            vertices,
        })
    }
}
