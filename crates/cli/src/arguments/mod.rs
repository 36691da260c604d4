//! Arguments and options of commands, with their help texts. Commands with many of their own keep them
//! beside their code, in `command/*/arguments.rs`.

mod common;
pub(crate) mod examples;
mod live;
mod logs;
pub(crate) mod on_use;
pub(crate) mod parse;
mod provider;
mod reading;
mod shell;
mod writing;

pub(crate) use common::*;
pub(crate) use live::*;
pub(crate) use logs::*;
pub(crate) use provider::*;
pub(crate) use reading::*;
pub(crate) use shell::*;
pub(crate) use writing::*;
