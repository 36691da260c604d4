//! What a block of another machine costs: over ssh, TLS and SMB, beside this machine itself and impacket, and
//! what 500 hosts a second cost their reader.
//!
//! `cargo xtask bench remote`; one more word selects a part: `blocks`, `rows`, `hosts`, `peers`. All servers
//! are here, with ports, keys and folders of their own, and end with the benchmark. sshd and smbd need root.

#[path = "remote/blocks.rs"]
mod blocks;
#[path = "remote/hosts.rs"]
mod hosts;
#[path = "remote/peers.rs"]
mod peers;
#[path = "remote/rows.rs"]
mod rows;
#[path = "remote/servers.rs"]
mod servers;
#[path = "remote/times.rs"]
mod times;

use servers::Net;
use tallymon_bench::Parts;

fn main() {
    let Some(parts) = Parts::wanted(&["blocks", "rows", "hosts", "peers"]) else { return };
    let net = Net::new();
    if parts.has("blocks") {
        blocks::run(&net);
    }
    if parts.has("rows") {
        rows::run(&net);
    }
    if parts.has("hosts") {
        hosts::run(&net);
    }
    if parts.has("peers") {
        peers::run(&net);
    }
}
