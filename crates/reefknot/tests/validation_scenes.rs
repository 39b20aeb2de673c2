//! Every scene of `scenes/validation` against mechanics: the quick cases of `sim::physics`, which
//! has all expected values and tolerances. Every step of a scene with contact is tested for
//! intersections.

#[cfg(test)]
mod tests {
    use reefknot_sim::physics::{Case, Changes, Row, cases, rows, run, scenes};

    /// Measures the quick cases of a scene, and asserts all values.
    fn assert_theory(scene: &str) {
        let is_meant = |case: &Case| case.scene == scene && !case.is_long;
        let cases: Vec<Case> = cases().into_iter().filter(is_meant).collect();
        let outcomes = run(&cases, &Changes::default(), 2, &mut |_| true);
        let outcomes = cases.iter().zip(outcomes.iter().flatten());
        let measured: Vec<Row> = outcomes
            .flat_map(|(case, outcome)| rows(case, outcome))
            .collect();
        let failed: Vec<&Row> = measured.iter().filter(|row| !row.holds).collect();
        assert!(!measured.is_empty() && failed.is_empty(), "{failed:#?}");
    }

    /// Defines a test for each scene.
    macro_rules! theory {
        ($($name:ident: $scene:literal,)*) => {
            $(
                #[test]
                fn $name() {
                    assert_theory($scene);
                }
            )*

            #[test]
            fn every_scene_of_the_table_has_a_test() {
                let mut tested = [$($scene),*];
                tested.sort_unstable();
                assert_eq!(tested.as_slice(), scenes());
            }
        };
    }

    theory! {
        validation_rod_cantilever_matches_the_heavy_elastica: "rod-cantilever",
        validation_rod_end_load_matches_the_elastica: "rod-end-load",
        validation_rod_rollup_closes_the_circle: "rod-rollup",
        validation_rod_elastica_has_deflection_and_force_of_theory: "rod-elastica",
        validation_rod_twist_buckles_at_the_critical_turn: "rod-twist",
        validation_ring_twist_buckles_at_michells_critical_twist: "ring-twist",
        validation_rod_bend_twist_leaves_its_plane_at_the_critical_curvature: "rod-bend-twist",
        validation_rod_frequency_is_that_of_a_beam_at_any_time_step: "rod-frequency",
        validation_hanging_rod_stretches_under_its_weight: "hanging-rod",
        validation_catenary_has_the_sag_of_theory: "catenary",
        validation_strip_cantilever_matches_the_heavy_elastica: "strip-cantilever",
        validation_clamped_plates_deflect_the_same_on_all_meshes: "plate-clamped",
        validation_supported_plates_deflect_the_same_on_all_meshes: "plate-supported",
        validation_strip_buckles_laterally_at_the_critical_length: "strip-lateral-buckling",
        validation_cylinder_roll_has_the_energy_of_a_bent_plate: "cylinder-roll",
        validation_cloth_hanging_stretches_under_its_weight_on_all_meshes: "cloth-hanging",
        validation_cloth_shear_has_the_energy_of_st_venant_and_kirchhoff: "cloth-shear",
        validation_solid_cantilever_converges_to_beam_theory: "solid-cantilever",
        validation_solid_torsion_converges_to_beam_theory: "solid-torsion",
        validation_solid_frequency_converges_to_beam_theory: "solid-frequency",
        validation_solid_uniaxial_follows_each_material_law: "solid-uniaxial",
        validation_solid_patch_is_exact: "solid-patch",
        validation_spherical_pendulum_has_nutation_and_precession_of_theory: "spherical-pendulum",
        validation_momentum_drift_is_that_of_the_integrator: "momentum",
        validation_spin_decays_by_the_recursion_of_implicit_euler: "spin",
        validation_vibration_decays_at_the_rate_of_implicit_euler: "vibration",
        validation_incline_slides_by_coulombs_law_and_sticks_above_its_limit: "incline",
        validation_slide_to_stop_has_the_same_distance_in_any_direction: "slide-to-stop",
        validation_puck_turns_downhill: "puck",
        validation_ball_rolls_with_five_sevenths_of_its_speed: "ball-roll",
        validation_capstan_ratio_is_the_exponential_of_friction_times_angle: "capstan",
        validation_two_cards_stand_above_half_the_tangent_of_their_angle: "two-cards",
        validation_stick_slip_slips_where_the_elastica_leaves_the_cone: "stick-slip",
        validation_block_topples_at_the_angle_of_its_diagonal: "block-topple",
        validation_ladder_slides_at_the_critical_angle: "ladder",
        validation_hertz_force_of_a_soft_ball: "hertz",
        validation_ball_bounces_to_the_squared_restitution_times_its_height: "bounce",
        validation_colliding_bodies_conserve_momentum: "collide",
        validation_contact_forces_of_all_kinds_of_bodies_equal_their_weight: "resting-weight",
        validation_grip_does_not_slip: "grip",
        validation_spinning_bodies_are_braked_by_the_moment_of_friction: "spinning-disc",
        validation_contacts_balance_the_moment_of_a_load: "eccentric-load",
    }
}
