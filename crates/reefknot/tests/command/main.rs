//! The command as a user runs it: the real program in a temporary folder, with a time limit.
#![cfg(unix)]

#[cfg(test)]
mod commands;
#[cfg(test)]
mod common;
#[cfg(test)]
mod contact;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod inputs;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod output;
#[cfg(test)]
mod physics;
#[cfg(test)]
mod render;
#[cfg(test)]
mod solve;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod view;
#[cfg(test)]
mod web;
