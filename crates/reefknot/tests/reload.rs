//! A checkpoint contains everything that the next step depends on.

#[cfg(test)]
mod tests {
    use reefknot_sim::integrate::Scratch;
    use reefknot_sim::io::folder::{Origin, RunFolder};
    use reefknot_sim::model::Model;
    use reefknot_sim::scene::{Scene, SceneRequest, shipped};
    use reefknot_sim::step::step;

    fn read(text: &str, quick: bool) -> (Scene, Model) {
        let request = SceneRequest {
            file: "flag.toml".into(),
            text: text.into(),
            quick,
            ..SceneRequest::default()
        };
        let scene = Scene::read(&request).unwrap();
        let model = Model::build(&scene).unwrap();
        (scene, model)
    }

    #[test]
    fn every_step_from_a_checkpoint_has_the_same_bits() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(temporary.path());
        folder.prepare().unwrap();
        let (scene, model) = read(shipped::find("flag").unwrap().text, true);
        folder.write_text("scene.toml", &scene.to_toml()).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut straight = model.start.clone();
        let origin = Origin {
            isa: "any".into(),
            commit: "any".into(),
        };
        while straight.step < model.clock.steps() {
            folder.write_checkpoint(&straight, &origin).unwrap();
            let taken = step(&model, &straight, &mut scratch).unwrap();

            let (_, model) = read(&folder.read_text("scene.toml").unwrap(), false);
            let (from, _) = folder.read_checkpoint(straight.step, &model).unwrap();
            assert_eq!(from, straight);
            let mut scratch = Scratch::new(&model);
            let reloaded = step(&model, &from, &mut scratch).unwrap();

            assert_eq!(
                reloaded.to.hash(),
                taken.to.hash(),
                "step {}",
                taken.to.step
            );
            assert_eq!(reloaded.pin_forces, taken.pin_forces);
            assert_eq!(reloaded.report.energy_j, taken.report.energy_j);
            straight = taken.to;
        }
        assert_eq!(straight.step, 120);
    }
}
