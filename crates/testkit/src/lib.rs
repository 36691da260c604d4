//! Development only: finds sample data and peers, reports skips, makes folders, terminals and servers for
//! tests, and assembles raw data blocks without our own writer.
#![forbid(unsafe_code)]

mod attacks;
mod bucket_server;
mod ends;
mod machines;
mod object_storage;
mod page_address;
mod pcp;
pub mod raw;
#[cfg(unix)]
mod samba;
mod scratch;
mod skips;
mod source_texts;
pub mod terminal;
mod text_server;
mod work;

pub use attacks::{attack, attack_count, has_own_machine, other_user};
pub use bucket_server::{Asked, BucketServer, Does};
pub use ends::Ends;
pub use machines::{LARGE_MACHINES, LargeMachine};
pub use object_storage::ObjectStorage;
pub use page_address::PageAddress;
pub use pcp::Pcp;
#[cfg(unix)]
pub use samba::{Samba, sbin};
pub use scratch::Scratch;
pub use skips::{open_files_can_be_deleted, peer, shared, skip, skip_bpf};
pub use source_texts::{SourceText, source_texts, translations};
pub use text_server::{Gate, Reply, TextServer};
pub use work::{assert_linear, assert_linear_in, work_folder, work_size};
