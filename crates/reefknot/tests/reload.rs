//! Nothing that the next step depends on lives outside a checkpoint.

#[cfg(test)]
mod tests {
    use reefknot::integrate::{self, Scratch};
    use reefknot::io::folder::{Origin, RunFolder};
    use reefknot::model::Model;
    use reefknot::scene::{Scene, SceneRequest, shipped};

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
    fn every_step_can_be_taken_from_files_alone() {
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
            let step = integrate::step(&model, &straight, &mut scratch).unwrap();

            let (_, model) = read(&folder.read_text("scene.toml").unwrap(), false);
            let (from, _) = folder.read_checkpoint(straight.step, &model).unwrap();
            assert_eq!(from, straight);
            let mut scratch = Scratch::new(&model);
            let reloaded = integrate::step(&model, &from, &mut scratch).unwrap();

            assert_eq!(reloaded.to.hash(), step.to.hash(), "step {}", step.to.step);
            assert_eq!(reloaded.pin_forces, step.pin_forces);
            assert_eq!(reloaded.report.energy_j, step.report.energy_j);
            straight = step.to;
        }
        assert_eq!(straight.step, 120);
    }
}
