//! Choices of scene tables as values of the model, which does not depend on the scene format.

use crate::model::contact::ConstraintLevel;
use crate::model::probe::{MeasuredEnergy, MeasuredMomentum, Reduction};
use crate::motion::keyframes::TrackInterpolation;
use crate::motion::sequence::FrameInterpolation;
use crate::scene::tables;

/// Converts a choice of a table to the enum of the model with the same variants.
macro_rules! convert {
    ($table:ident => $model:ident { $($variant:ident),+ $(,)? }) => {
        impl From<tables::$table> for $model {
            fn from(choice: tables::$table) -> $model {
                match choice {
                    $(tables::$table::$variant => $model::$variant,)+
                }
            }
        }
    };
}

convert!(ContactLevel => ConstraintLevel { Position, Velocity });
convert!(Interpolation => TrackInterpolation { Linear, Smooth });
convert!(SequenceInterpolation => FrameInterpolation { Linear, Smooth, Hold });
convert!(EnergyKind => MeasuredEnergy { Kinetic, Elastic, Gravity, Total });
convert!(Momentum => MeasuredMomentum { Linear, TotalLinear, Angular });
convert!(Reduce => Reduction {
    Last,
    First,
    Min,
    Max,
    Mean,
    Change,
    MaxChange,
    WhenBelow,
    WhenAbove,
    PerStep,
    AmplitudeRatio,
    Frequency,
    Period,
    Precession,
});
