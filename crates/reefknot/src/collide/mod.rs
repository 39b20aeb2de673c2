//! Who may touch, where and when: geometry only.

pub mod features;
