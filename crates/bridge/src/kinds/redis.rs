//! `INFO` of Redis and of Valkey, which speaks the same.

use std::collections::BTreeMap;

use super::known::{Group, average_time, count, gauge, hit_rate, share, time, whole};
use super::wire::{Address, MOST_BYTES, Wire, shown, too_long};
use super::{Speaks, check_own};
use crate::catalog::CounterKind;
use crate::metrics::{Metrics, Number, Title, is_name};
use crate::settings::{ReadSecret, Settings};

const SCHEMES: &[&str] = &["redis", SECURE];
/// The scheme of addresses that are read over TLS, as clients of Redis have it.
const SECURE: &str = "rediss";
const USUAL_PORT: u16 = 6379;

/// Servers of Redis and Valkey.
pub(super) struct Redis;

/// Sections of `INFO`, and what is known of them.
const SECTIONS: &[(&str, Group)] = &[
    ("server", SERVER),
    ("clients", CLIENTS),
    ("memory", MEMORY),
    ("persistence", PERSISTENCE),
    ("stats", STATISTICS),
    ("replication", REPLICATION),
    ("cpu", PROCESSOR),
];

const SERVER: Group = Group {
    prefix: "redis_server",
    object: "Server",
    values: &[whole("uptime_in_seconds", "Uptime (sec)", "Seconds since the server started.")],
};

const CLIENTS: Group = Group {
    prefix: "redis_clients",
    object: "Clients",
    values: &[
        whole("connected_clients", "Connected Clients", "Connections of clients, without replicas."),
        share(
            "connected_clients",
            "maxclients",
            "% Connections Used",
            "Connections of all that are allowed.",
        ),
        whole("blocked_clients", "Blocked Clients", "Clients that wait in a command such as BLPOP."),
        whole("tracking_clients", "Tracking Clients", "Clients that keep values with the server's help."),
        whole("pubsub_clients", "Subscribed Clients", "Clients that subscribed to channels."),
        whole("cluster_connections", "Cluster Connections", "Sockets of the cluster's bus."),
        whole(
            "client_recent_max_input_buffer",
            "Largest Input Buffer Bytes",
            "The largest input buffer of a client.",
        ),
        whole(
            "client_recent_max_output_buffer",
            "Largest Output Buffer Bytes",
            "The largest output buffer of a client.",
        ),
    ],
};

const MEMORY: Group = Group {
    prefix: "redis_memory",
    object: "Memory",
    values: &[
        whole("used_memory", "Used Bytes", "Memory that the allocator gave to the server."),
        share(
            "used_memory",
            "memory_limit",
            "% Used of Limit",
            "Used memory of maxmemory; none without a limit.",
        ),
        whole("used_memory_peak", "Peak Used Bytes", "The most memory that was used since the start."),
        whole("used_memory_rss", "Resident Bytes", "Memory that the system counts for the server."),
        whole("used_memory_dataset", "Data Bytes", "Used memory without what the server needs itself."),
        whole("used_memory_overhead", "Overhead Bytes", "Memory for the server's own work."),
        whole("used_memory_lua", "Lua Bytes", "Memory of the engine of scripts."),
        whole("maxmemory", "Limit Bytes", "The limit maxmemory; 0 means no limit."),
        gauge("mem_fragmentation_ratio", "Fragmentation Ratio", "Resident memory divided by used memory."),
        whole("mem_clients_normal", "Client Buffer Bytes", "Memory of the buffers of clients."),
        whole("mem_replication_backlog", "Replication Backlog Bytes", "Memory for replicas that come back."),
        count("lazyfreed_objects", "Objects Freed/sec", "Objects that a thread freed."),
        whole("lazyfree_pending_objects", "Objects To Free", "Objects that a thread will free."),
    ],
};

const PERSISTENCE: Group = Group {
    prefix: "redis_persistence",
    object: "Persistence",
    values: &[
        whole("loading", "Loading", "1 while the server loads its data."),
        whole("rdb_changes_since_last_save", "Changes Not Saved", "Changes since the last snapshot."),
        whole("rdb_bgsave_in_progress", "Saving Snapshot", "1 while a snapshot is written."),
        whole("rdb_last_bgsave_time_sec", "Last Snapshot (sec)", "Seconds that the last snapshot took."),
        count("rdb_saves", "Snapshots/sec", "Snapshots that were written."),
        whole("aof_rewrite_in_progress", "Rewriting AOF", "1 while the append-only file is rewritten."),
        whole("aof_current_size", "AOF Bytes", "Size of the append-only file."),
        whole("aof_delayed_fsync", "Delayed AOF Flushes", "Flushes of the append-only file that were late."),
        count("aof_rewrites", "AOF Rewrites/sec", "Rewrites of the append-only file."),
    ],
};

const STATISTICS: Group = Group {
    prefix: "redis_stats",
    object: "Commands",
    values: &[
        count("total_commands_processed", "Commands/sec", "Commands that were processed."),
        count("total_connections_received", "Connections/sec", "Connections that were accepted."),
        count("rejected_connections", "Rejected Connections/sec", "Connections beyond maxclients."),
        count("total_net_input_bytes", "Bytes Received/sec", "Bytes from clients."),
        count("total_net_output_bytes", "Bytes Sent/sec", "Bytes to clients."),
        count(
            "total_net_repl_input_bytes",
            "Replication Bytes Received/sec",
            "Bytes of replication received.",
        ),
        count("total_net_repl_output_bytes", "Replication Bytes Sent/sec", "Bytes of replication sent."),
        count("keyspace_hits", "Key Hits/sec", "Reads of keys that exist."),
        count("keyspace_misses", "Key Misses/sec", "Reads of keys that do not exist."),
        hit_rate("keyspace_hits", "keyspace_reads", "Key Hit %", "Reads of keys that exist, of all reads."),
        count("expired_keys", "Expired Keys/sec", "Keys that reached their time."),
        count("evicted_keys", "Evicted Keys/sec", "Keys that had to go because of maxmemory."),
        count("evicted_clients", "Evicted Clients/sec", "Clients that had to go because of their memory."),
        count("total_error_replies", "Error Replies/sec", "Answers that are errors."),
        count(
            "unexpected_error_replies",
            "Unexpected Error Replies/sec",
            "Errors that no client should cause.",
        ),
        count("acl_access_denied_auth", "Failed Logons/sec", "Wrong passwords."),
        count("total_reads_processed", "Reads/sec", "Times that the server read from a connection."),
        count("total_writes_processed", "Writes/sec", "Times that the server wrote to a connection."),
        count("io_threaded_reads_processed", "Threaded Reads/sec", "Reads by threads for connections."),
        count("io_threaded_writes_processed", "Threaded Writes/sec", "Writes by threads for connections."),
        count("total_forks", "Forks/sec", "Processes for snapshots and rewrites."),
        count("sync_full", "Full Resyncs/sec", "Replicas that took all data."),
        count("sync_partial_ok", "Partial Resyncs/sec", "Replicas that took what they missed."),
        count("sync_partial_err", "Denied Partial Resyncs/sec", "Replicas that missed too much."),
        count("active_defrag_misses", "Defragmentation Misses/sec", "Values that were not moved."),
        count("active_defrag_key_hits", "Defragmented Keys/sec", "Keys with a value that was moved."),
        count("active_defrag_key_misses", "Defragmentation Key Misses/sec", "Keys that were not changed."),
        count(
            "expired_time_cap_reached_count",
            "Expire Cycles Cut/sec",
            "Searches for keys that expired that took too long.",
        ),
        count("dump_payload_sanitizations", "Payload Checks/sec", "Deep checks of payloads of RESTORE."),
        count("active_defrag_hits", "Defragmented Values/sec", "Values that defragmentation moved."),
        count(
            "reply_buffer_shrinks",
            "Reply Buffer Shrinks/sec",
            "Buffers of answers that were made smaller.",
        ),
        count(
            "reply_buffer_expands",
            "Reply Buffer Expands/sec",
            "Buffers of answers that were made larger.",
        ),
        time("expire_cycle_cpu_milliseconds", 1000, "% Expire Time", "Processor time for keys that expire."),
        time(
            "total_eviction_exceeded_time",
            1000,
            "% Over Limit Time",
            "Time with more memory than maxmemory.",
        ),
        time("total_active_defrag_time", 1000, "% Defragmentation Time", "Time with too much fragmentation."),
        whole("latest_fork_usec", "Last Fork (microseconds)", "How long the last fork took."),
        whole("pubsub_channels", "Channels", "Channels that have subscribers."),
        whole("pubsub_patterns", "Channel Patterns", "Patterns of channels that have subscribers."),
    ],
};

const REPLICATION: Group = Group {
    prefix: "redis_replication",
    object: "Replication",
    values: &[
        whole("connected_slaves", "Connected Replicas", "Replicas that are connected."),
        count("master_repl_offset", "Replication Bytes/sec", "Bytes of changes for replicas."),
        whole("repl_backlog_histlen", "Backlog Bytes", "Changes that are kept for replicas that come back."),
        whole("master_last_io_seconds_ago", "Last Contact (sec)", "Seconds since the source was heard of."),
        whole("master_sync_in_progress", "Synchronizing", "1 while this replica takes all data."),
        whole("slave_repl_offset", "Replica Offset Bytes", "Up to where this replica has changes."),
    ],
};

const PROCESSOR: Group = Group {
    prefix: "redis_cpu",
    object: "Processor",
    values: &[
        time("used_cpu_sys", 1, "% Privileged Time", "Processor time in the kernel; 100 is one processor."),
        time("used_cpu_user", 1, "% User Time", "Processor time in the server; 100 is one processor."),
        time(
            "used_cpu_sys_children",
            1,
            "% Children Privileged Time",
            "The same of processes that it forked.",
        ),
        time("used_cpu_user_children", 1, "% Children User Time", "The same of processes that it forked."),
        time("used_cpu_sys_main_thread", 1, "% Main Thread Privileged Time", "The same of its main thread."),
        time("used_cpu_user_main_thread", 1, "% Main Thread User Time", "The same of its main thread."),
    ],
};

/// Lines with several values, each of an instance: what they begin with, and their label.
const INSTANCES: &[(&str, &str, Group)] =
    &[("db", "database", DATABASE), ("cmdstat_", "command", COMMAND), ("errorstat_", "error", ERROR)];

const DATABASE: Group = Group {
    prefix: "redis_database",
    object: "Database",
    values: &[
        whole("keys", "Keys", "Keys in the database."),
        whole("expires", "Keys With Time", "Keys that will expire."),
        share("expires", "keys", "% Keys With Time", "Keys that will expire, of all keys."),
        whole("avg_ttl", "Average Time To Live (ms)", "Milliseconds until keys expire, on average."),
    ],
};

const COMMAND: Group = Group {
    prefix: "redis_command",
    object: "Command",
    values: &[
        count("calls", "Calls/sec", "Calls of the command."),
        average_time(("usec", 1_000_000), "calls", "Avg. sec/Call", "Processor time of a call."),
        time("usec", 1_000_000, "% Time", "Time in calls of the command."),
        count("rejected_calls", "Rejected Calls/sec", "Calls that failed before they ran."),
        count("failed_calls", "Failed Calls/sec", "Calls that failed while they ran."),
    ],
};

const ERROR: Group = Group {
    prefix: "redis_error",
    object: "Errors",
    values: &[count("count", "Errors/sec", "Answers that are errors of this kind.")],
};

/// Numbers of settings and of the build, which measure nothing.
const NO_MEASURES: &[&str] =
    &["maxclients", "cluster_enabled", "aof_enabled", "second_repl_offset", "master_port"];

impl Speaks for Redis {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_own(settings, SCHEMES)?;
        if settings.certificate.is_some() && !is_secure(settings) {
            return Err("certificate: an address that is read over TLS begins with rediss://".to_owned());
        }
        let Address { user, path, .. } = Address::of(&settings.url, SCHEMES)?;
        if path.is_some() {
            return Err("an address of Redis has no path: INFO is of all its databases".to_owned());
        }
        if user.is_some() && settings.password.is_none() {
            return Err("password: a user of Redis has one; name its file".to_owned());
        }
        Ok(())
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let address = Address::of(&settings.url, SCHEMES)?;
        let password = settings.password(read_secret)?;
        let tls = is_secure(settings).then(|| settings.tls()).transpose()?;
        let wire = Wire::connect(settings, &address, USUAL_PORT)?;
        let wire = match &tls {
            Some(tls) => wire.secured(tls, &address.host)?,
            None => wire,
        };
        ask(wire, address.user.as_deref(), password.as_deref())
    }
}

fn is_secure(settings: &Settings) -> bool {
    settings.url.split_once("://").is_some_and(|(scheme, _)| scheme == SECURE)
}

/// What a server says that was recorded: for fuzzing.
pub(super) fn read_recorded(answers: &[u8]) -> Result<Metrics, String> {
    ask(Wire::recorded(answers), Some("user"), Some("password"))
}

fn ask(mut wire: Wire, user: Option<&str>, password: Option<&str>) -> Result<Metrics, String> {
    if let Some(password) = password {
        let words: Vec<&str> = ["AUTH"].into_iter().chain(user).chain([password]).collect();
        wire.send(&command(&words))?;
        line(&mut wire)?;
    }
    wire.send(&command(&["INFO", "all"]))?;
    let head = line(&mut wire)?;
    let length = head.strip_prefix('$').and_then(|length| length.parse::<u32>().ok());
    let length =
        length.ok_or_else(|| format!("the answer is none to INFO; it begins with {:?}", shown(&head)))?;
    let length = usize::try_from(length).ok().filter(|length| *length <= MOST_BYTES).ok_or_else(too_long)?;
    of_info(&String::from_utf8_lossy(&wire.take(length)?))
}

/// A command in the protocol of Redis.
fn command(words: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    text.into_bytes()
}

/// A line; one that begins with `-` is an error of the server.
fn line(wire: &mut Wire) -> Result<String, String> {
    let line = wire.line()?;
    match line.strip_prefix('-') {
        Some(error) if error.starts_with("NOAUTH") => {
            Err(format!("it answers {:?}; name a file with the password", shown(error)))
        }
        Some(error) => Err(format!("it answers {:?}", shown(error))),
        None => Ok(line),
    }
}

fn of_info(info: &str) -> Result<Metrics, String> {
    let mut metrics = Metrics::default();
    for (_, label, group) in INSTANCES {
        group.declare(&mut metrics, &[label], |_| true);
    }
    let mut sections: BTreeMap<String, BTreeMap<&str, &str>> = BTreeMap::new();
    let mut section = String::new();
    for line in info.lines() {
        if let Some(name) = line.strip_prefix('#') {
            section = name.trim().to_lowercase();
        } else if let Some((key, text)) = line.split_once(':') {
            let text = text.trim();
            if !instance(&mut metrics, key, text) {
                sections.entry(section.clone()).or_default().insert(key, text);
            }
        }
    }
    for (name, texts) in &sections {
        match SECTIONS.iter().find(|(known, _)| known == name) {
            Some((_, group)) => add_section(&mut metrics, group, texts),
            None => add_unknown(&mut metrics, "redis_other", "Other", &[], texts),
        }
    }
    if metrics.is_empty() { Err("the answer to INFO has no numbers".to_owned()) } else { Ok(metrics) }
}

/// Adds a line with the values of an instance; `false` for a line of another kind.
fn instance(metrics: &mut Metrics, key: &str, text: &str) -> bool {
    for (begin, label, group) in INSTANCES {
        let Some(name) = key.strip_prefix(begin).filter(|_| text.contains('=')) else { continue };
        let name = if *begin == "db" { key } else { name };
        let texts: BTreeMap<&str, &str> = text.split(',').filter_map(|part| part.split_once('=')).collect();
        group.add(metrics, &[(label, name)], |key| texts.get(key).copied());
        return true;
    }
    false
}

fn add_section(metrics: &mut Metrics, group: &Group, texts: &BTreeMap<&str, &str>) {
    let number = |key: &str| texts.get(key)?.parse::<u64>().ok();
    let reads = number("keyspace_hits").zip(number("keyspace_misses")).and_then(|(a, b)| a.checked_add(b));
    let reads = reads.map(|reads| reads.to_string());
    // Two bases are made of what INFO has.
    group.declare(metrics, &[], |key| match key {
        "keyspace_reads" => texts.contains_key("keyspace_hits"),
        "memory_limit" => texts.contains_key("maxmemory"),
        key => texts.contains_key(key),
    });
    group.add(metrics, &[], |key| match key {
        "keyspace_reads" => reads.as_deref(),
        // Without a limit there is no part of it.
        "memory_limit" => texts.get("maxmemory").copied().filter(|limit| *limit != "0"),
        key => texts.get(key).copied(),
    });
    // The numbers of the server are those of its build and settings.
    if group.object != SERVER.object {
        let known: Vec<&str> = group.values.iter().map(|known| known.key).collect();
        add_unknown(metrics, group.prefix, group.object, &known, texts);
    }
}

/// Adds the numbers that no table knows, under the names that the server gives them.
fn add_unknown(
    metrics: &mut Metrics,
    prefix: &str,
    object: &str,
    known: &[&str],
    texts: &BTreeMap<&str, &str>,
) {
    for (key, text) in texts.iter().filter(|(key, _)| is_name(key)) {
        if known.contains(key) || NO_MEASURES.contains(key) {
            continue;
        }
        let Some(number) = Number::of_text(text, 1) else { continue };
        let title = Title { object: object.to_owned(), counter: (*key).to_owned(), kind: CounterKind::Gauge };
        let metric = format!("{prefix}_{key}");
        if metrics.declare(&metric, &[], title, &format!("{key}, as INFO shows it.")) {
            metrics.add_declared(&metric, &[], number, None);
        }
    }
}

#[cfg(test)]
#[path = "redis_tests.rs"]
mod tests;
