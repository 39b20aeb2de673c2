//! From the tables of probes to what they measure.

use glam::{DMat3, DVec3};

use super::{Points, Probe, Touching, What};
use crate::build::Builder;
use crate::model::Model;
use crate::scene::tables::{self, Measure, Reduce};
use crate::scene::values::{NamedItem, Placed};

/// Makes a probe from its table.
pub(crate) fn build(
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
    let what = names.what(&table.measure)?;
    let is_swing = matches!(what, What::Swing(..));
    if (table.reduce == Reduce::Precession) && !is_swing {
        let message = format!("`probe.{}` has no second angle to reduce", item.name);
        builder.problem(
            &item.place,
            message,
            "measure a `swing`, or reduce it in another way",
        );
        return None;
    }
    let has_limit = matches!(table.reduce, Reduce::WhenBelow | Reduce::WhenAbove);
    if has_limit && table.threshold.is_none() {
        let word = table.reduce.word();
        let message = format!(
            "`probe.{}` does not say what \"{word}\" is about",
            item.name
        );
        builder.problem(&item.place, message, "give a `threshold`");
        return None;
    }
    Some(Probe {
        name: item.name.clone(),
        reduce: table.reduce,
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
        what,
    })
}

/// Finds what a probe names.
struct Names<'a, 'b, 'c> {
    item: &'a NamedItem<tables::Probe>,
    model: &'a Model,
    builder: &'b mut Builder<'c>,
}

impl Names<'_, '_, '_> {
    fn what(&mut self, measure: &Measure) -> Option<What> {
        Some(match measure {
            Measure::Position(points) => What::Position(self.points(points)?),
            Measure::Displacement(points) => What::Displacement(self.points(points)?),
            Measure::Velocity(points) => What::Velocity(self.points(points)?),
            Measure::Distance(pair) => {
                let (from, to) = (self.points(&pair.from), self.points(&pair.to));
                What::Distance(from?, to?)
            }
            Measure::Rotation(turn) => {
                let axis = self
                    .builder
                    .direction(&turn.axis, "the axis needs a direction");
                What::Rotation(self.points(&turn.of)?, axis?)
            }
            Measure::Swing(swing) => {
                let center = DVec3::from_array(swing.center.map(|length| length.0));
                What::Swing(self.points(&swing.of)?, center)
            }
            Measure::OutOfPlane(plane) => {
                let normal = self
                    .builder
                    .direction(&plane.normal, "a plane needs a normal");
                What::OutOfPlane(self.object(&plane.object)?, normal?)
            }
            Measure::MapError(map) => {
                let rows = DMat3::from_cols_array_2d(&map.rows).transpose();
                What::MapError(self.object(&map.object)?, rows)
            }
            Measure::PinForce(pin) => {
                let pins: Vec<&str> = self
                    .model
                    .pins
                    .iter()
                    .map(|pin| pin.name.as_str())
                    .collect();
                What::PinForce(self.builder.find("pin", pin, &pins)?)
            }
            Measure::ContactForce(touching) => What::ContactForce(self.touching(touching)?),
            Measure::Contacts(touching) => What::Contacts(self.touching(touching)?),
            Measure::Gap(touching) => What::Gap(self.touching(touching)?),
            Measure::Energy(kind) => What::Energy(*kind),
            Measure::MomentumDrift(kind) => What::MomentumDrift(*kind),
            Measure::MaxStretch(object) => What::MaxStretch(self.object(object)?),
            Measure::Weight(names) => {
                let objects: Vec<Option<usize>> =
                    names.iter().map(|name| self.object(name)).collect();
                What::Weight(objects.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    fn object(&mut self, name: &Placed<String>) -> Option<usize> {
        let objects: Vec<&str> = self.model.objects.iter().map(|o| o.name.as_str()).collect();
        self.builder.find("object", name, &objects)
    }

    fn touching(&mut self, table: &tables::Touching) -> Option<Touching> {
        let object = self.object(&table.object);
        let other = match &table.other {
            Some(name) => Some(self.object(name)?),
            None => None,
        };
        Some(Touching {
            object: object?,
            other,
        })
    }

    fn points(&mut self, table: &tables::Points) -> Option<Points> {
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
                    None => format!("{who} does not say which vertices of `{}`", object.name),
                };
                let advice = "give `vertex`, or `at` for the mean of several";
                self.builder.problem(&table.object.place, message, advice);
                return None;
            }
        };
        Some(Points {
            object: index,
            vertices,
        })
    }
}
