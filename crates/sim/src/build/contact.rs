//! Contact properties of the scene and of pairs of objects or groups.

use super::Builder;
use crate::model::Object;
use crate::model::contact::{ContactModel, PairOverride, PairProperties};
use crate::scene::tables::{ContactPair, ContactProperties};
use crate::scene::values::Placed;

impl Builder<'_> {
    /// The table `[contact]`, with `pairs` expanded to pairs of objects.
    pub(super) fn contact(&mut self, objects: &[Object]) -> Option<ContactModel> {
        let table = &self.tables.contact;
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let members = self.groups(&names)?;
        // Of two entries for the same objects, the one with more object names has precedence.
        let mut found: Vec<([usize; 2], usize, PairOverride)> = Vec::new();
        let mut complete = true;
        for pair in table.pairs.iter().flatten() {
            let sides = [0, 1].map(|side| self.members(&pair.between[side], &names, &members));
            let [Some(some), Some(others)] = sides else {
                complete = false;
                continue;
            };
            let is_name = |side: usize| usize::from(names.contains(&&*pair.between[side].value));
            let named = is_name(0) + is_name(1);
            let mut objects: Vec<[usize; 2]> = some
                .iter()
                .flat_map(|&one| others.iter().map(move |&other| [one, other]))
                .map(|[one, other]| [one.min(other), one.max(other)])
                .collect();
            objects.sort_unstable();
            objects.dedup();
            for objects in objects {
                if found
                    .iter()
                    .any(|known| (known.0, known.1) == (objects, named))
                {
                    let [one, other] = objects.map(|object| names[object]);
                    let message = format!("the pair of `{one}` and `{other}` is given twice");
                    self.problem(&pair.between[0].place, message, "merge the two entries");
                    complete = false;
                    break;
                }
                found.push((objects, named, override_of(pair, objects)));
            }
        }
        complete.then_some(ContactModel {
            default: PairProperties {
                friction: table.friction,
                thickness: 0.0,
                restitution: table.restitution,
                cohesion: table.cohesion.0,
                compliance: table.compliance.0,
            },
            pairs: merged(found),
            level: table.level.into(),
            recovery: table.recovery.0,
        })
    }

    /// All contact groups: name and indices of the members.
    fn groups(&mut self, names: &[&str]) -> Option<Vec<(String, Vec<usize>)>> {
        let tables = self.tables;
        let of_objects = tables.object.0.iter().map(|item| &item.value.contact);
        let of_colliders = tables.collider.0.iter().map(|item| &item.value.contact);
        let all: Vec<&ContactProperties> = of_objects.chain(of_colliders).collect();
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        let mut complete = true;
        for (index, properties) in all.into_iter().enumerate() {
            let Some(name) = &properties.group else {
                continue;
            };
            if names.contains(&name.value.as_str()) {
                let message = format!("the group `{}` has the name of an object", name.value);
                self.problem(&name.place, message, "rename one of them");
                complete = false;
            }
            match groups.iter_mut().find(|(known, _)| *known == name.value) {
                Some((_, members)) => members.push(index),
                None => groups.push((name.value.clone(), vec![index])),
            }
        }
        complete.then_some(groups)
    }

    /// The objects of a name: one object, or the members of a group.
    fn members(
        &mut self,
        name: &Placed<String>,
        names: &[&str],
        groups: &[(String, Vec<usize>)],
    ) -> Option<Vec<usize>> {
        if let Some((_, members)) = groups.iter().find(|(known, _)| *known == name.value) {
            return Some(members.clone());
        }
        let index = self.find("object, collider or contact group", name, names)?;
        Some(vec![index])
    }
}

fn override_of(pair: &ContactPair, objects: [usize; 2]) -> PairOverride {
    PairOverride {
        objects,
        collides: pair.touch,
        friction: pair.friction,
        thickness: pair.thickness.map(|length| length.0),
        restitution: pair.restitution,
        cohesion: pair.cohesion.map(|force| force.0),
        compliance: pair.compliance.map(|compliance| compliance.0),
    }
}

/// One entry per pair of objects, sorted. Values that a specific entry omits come from a less
/// specific one.
fn merged(mut found: Vec<([usize; 2], usize, PairOverride)>) -> Vec<PairOverride> {
    found.sort_by_key(|(objects, named, _)| (*objects, usize::MAX - named));
    let mut pairs: Vec<PairOverride> = Vec::new();
    for (objects, _, next) in found {
        match pairs.last_mut().filter(|last| last.objects == objects) {
            Some(last) => last.fill(&next),
            None => pairs.push(next),
        }
    }
    pairs
}
