//! The statistics views of PostgreSQL, read by its protocol (version 3) with simple queries.

use std::collections::HashMap;

use super::known::{Group, average_time, count, gauge, hit_rate, share, time, whole};
use super::scram::Scram;
use super::wire::{Address, MOST_BYTES, Wire, shown, too_long};
use super::{Speaks, check_own};
use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

const SCHEMES: &[&str] = &["postgresql", "postgres"];
const USUAL_PORT: u16 = 5432;
/// The database that every server has.
const USUAL_DATABASE: &str = "postgres";
/// The version of the protocol, 3.0.
const PROTOCOL: i32 = 196_608;
/// The state of an error that says that a view does not exist in this version.
const NO_SUCH_VIEW: &str = "42P01";

/// Servers of PostgreSQL.
pub(super) struct PostgreSql;

/// A question, the columns that name an instance, and what becomes of the others. Each takes the columns that
/// the version of the server has.
struct View {
    sql: &'static str,
    /// Columns, and the labels that they become.
    labels: &'static [(&'static str, &'static str)],
    group: Group,
}

/// At most 1,000 databases and replicas and 200 tables have instances.
const VIEWS: &[View] = &[
    View {
        sql: "SELECT *, blks_hit + blks_read AS blks_all FROM pg_stat_database WHERE datname IS NOT NULL \
              ORDER BY datname LIMIT 1000",
        labels: &[("datname", "database")],
        group: DATABASE,
    },
    View {
        sql: "SELECT count(*) AS backends, \
              count(*) FILTER (WHERE state = 'active') AS active, \
              count(*) FILTER (WHERE state = 'idle') AS idle, \
              count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction, \
              count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting, \
              extract(epoch FROM max(clock_timestamp() - xact_start)) AS longest, \
              current_setting('max_connections') AS most \
              FROM pg_stat_activity WHERE backend_type = 'client backend'",
        labels: &[],
        group: SESSIONS,
    },
    View { sql: "SELECT * FROM pg_stat_bgwriter", labels: &[], group: WRITER },
    View { sql: "SELECT * FROM pg_stat_checkpointer", labels: &[], group: CHECKPOINTS },
    View { sql: "SELECT * FROM pg_stat_wal", labels: &[], group: LOG },
    View {
        sql: "SELECT *, pg_wal_lsn_diff(sent_lsn, replay_lsn) AS behind, extract(epoch FROM replay_lag) AS lag, \
              coalesce(host(client_addr), 'local') AS peer FROM pg_stat_replication ORDER BY pid LIMIT 1000",
        labels: &[("application_name", "application"), ("peer", "peer")],
        group: REPLICA,
    },
    View {
        sql: "SELECT t.*, heap_blks_read, heap_blks_hit, heap_blks_read + heap_blks_hit AS heap_blks_all \
              FROM pg_stat_user_tables t LEFT JOIN pg_statio_user_tables USING (relid) \
              ORDER BY coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) \
              + n_tup_ins + n_tup_upd + n_tup_del DESC, relid LIMIT 200",
        labels: &[("schemaname", "schema"), ("relname", "table")],
        group: TABLE,
    },
];

const DATABASE: Group = Group {
    prefix: "pg_stat_database",
    object: "Database",
    values: &[
        whole("numbackends", "Connections", "Server processes that are connected to the database."),
        count("xact_commit", "Commits/sec", "Transactions that were committed."),
        count("xact_rollback", "Rollbacks/sec", "Transactions that were rolled back."),
        count("blks_read", "Blocks Read/sec", "Blocks that were not in the buffer cache."),
        count("blks_hit", "Buffer Cache Hits/sec", "Blocks that were in the buffer cache."),
        hit_rate(
            "blks_hit",
            "blks_all",
            "Buffer Cache Hit %",
            "Blocks that were in the buffer cache, of all.",
        ),
        count("tup_returned", "Rows Scanned/sec", "Rows that scans of tables and indexes returned."),
        count("tup_fetched", "Rows Fetched/sec", "Rows that were fetched by index scans."),
        count("tup_inserted", "Rows Inserted/sec", "Rows that were inserted."),
        count("tup_updated", "Rows Updated/sec", "Rows that were updated."),
        count("tup_deleted", "Rows Deleted/sec", "Rows that were deleted."),
        count("conflicts", "Conflicts/sec", "Queries that recovery of a standby canceled."),
        count("temp_files", "Temporary Files/sec", "Temporary files that queries made."),
        count("temp_bytes", "Temporary Bytes/sec", "Bytes that queries wrote into temporary files."),
        count("deadlocks", "Deadlocks/sec", "Deadlocks that were found."),
        count("checksum_failures", "Checksum Failures/sec", "Blocks whose checksum was wrong."),
        count("sessions", "Sessions/sec", "Sessions that were established."),
        count("sessions_abandoned", "Sessions Abandoned/sec", "Sessions whose client was lost."),
        count("sessions_fatal", "Sessions Failed/sec", "Sessions that ended by a fatal error."),
        count("sessions_killed", "Sessions Killed/sec", "Sessions that an operator ended."),
        time("session_time", 1000, "% Session Time", "Time in sessions; 100 is one session all the time."),
        time("active_time", 1000, "% Active Time", "Time in statements; 100 is one session all the time."),
        time("idle_in_transaction_time", 1000, "% Idle in Transaction Time", "Time idle in transactions."),
        time("blk_read_time", 1000, "% Block Read Time", "Time in reads of blocks, with track_io_timing."),
        time("blk_write_time", 1000, "% Block Write Time", "Time in writes of blocks, with track_io_timing."),
        average_time(
            ("blk_read_time", 1000),
            "blks_read",
            "Avg. sec/Block Read",
            "Time of a read of a block.",
        ),
    ],
};

const SESSIONS: Group = Group {
    prefix: "pg_stat_activity",
    object: "Sessions",
    values: &[
        whole("backends", "Connections", "Connections of clients."),
        share("backends", "most", "% Connections Used", "Connections of clients, of max_connections."),
        whole("active", "Active", "Sessions that run a statement."),
        whole("idle", "Idle", "Sessions that wait for a statement."),
        whole(
            "idle_in_transaction",
            "Idle in Transaction",
            "Sessions that hold a transaction and do nothing.",
        ),
        whole("waiting", "Waiting for Locks", "Sessions that wait for a lock."),
        gauge("longest", "Longest Transaction (sec)", "Seconds since the oldest open transaction began."),
    ],
};

const WRITER: Group = Group {
    prefix: "pg_stat_bgwriter",
    object: "Background Writer",
    values: &[
        count("checkpoints_timed", "Timed Checkpoints/sec", "Checkpoints that were due."),
        count("checkpoints_req", "Requested Checkpoints/sec", "Checkpoints that were requested."),
        time("checkpoint_write_time", 1000, "% Checkpoint Write Time", "Time in writes of checkpoints."),
        time("checkpoint_sync_time", 1000, "% Checkpoint Sync Time", "Time in synchronizing of checkpoints."),
        count("buffers_checkpoint", "Checkpoint Buffers/sec", "Buffers that checkpoints wrote."),
        count("buffers_clean", "Cleaned Buffers/sec", "Buffers that the background writer wrote."),
        count("maxwritten_clean", "Cleaning Stops/sec", "Scans that stopped because too much was written."),
        count("buffers_backend", "Backend Buffers/sec", "Buffers that sessions had to write."),
        count("buffers_backend_fsync", "Backend Flushes/sec", "Flushes that sessions had to make."),
        count("buffers_alloc", "Buffers Allocated/sec", "Buffers that were allocated."),
    ],
};

const CHECKPOINTS: Group = Group {
    prefix: "pg_stat_checkpointer",
    object: "Checkpoints",
    values: &[
        count("num_timed", "Timed Checkpoints/sec", "Checkpoints that were due."),
        count("num_requested", "Requested Checkpoints/sec", "Checkpoints that were requested."),
        count("restartpoints_done", "Restartpoints/sec", "Restartpoints of a standby."),
        time("write_time", 1000, "% Checkpoint Write Time", "Time in writes of checkpoints."),
        time("sync_time", 1000, "% Checkpoint Sync Time", "Time in synchronizing of checkpoints."),
        count("buffers_written", "Checkpoint Buffers/sec", "Buffers that checkpoints wrote."),
    ],
};

const LOG: Group = Group {
    prefix: "pg_stat_wal",
    object: "Write-Ahead Log",
    values: &[
        count("wal_records", "Records/sec", "Records of the write-ahead log."),
        count("wal_fpi", "Full Page Images/sec", "Whole pages in the write-ahead log."),
        count("wal_bytes", "Bytes/sec", "Bytes of the write-ahead log."),
        count("wal_buffers_full", "Full Buffer Writes/sec", "Writes because the buffers were full."),
        count("wal_write", "Writes/sec", "Writes of the write-ahead log."),
        count("wal_sync", "Flushes/sec", "Flushes of the write-ahead log."),
        time("wal_write_time", 1000, "% Write Time", "Time in writes, with track_wal_io_timing."),
        time("wal_sync_time", 1000, "% Flush Time", "Time in flushes, with track_wal_io_timing."),
    ],
};

const REPLICA: Group = Group {
    prefix: "pg_stat_replication",
    object: "Replica",
    values: &[
        whole("behind", "Bytes Behind", "Bytes that were sent and that the replica has not replayed."),
        gauge("lag", "Replay Lag (sec)", "Seconds until the replica has replayed what was written."),
    ],
};

const TABLE: Group = Group {
    prefix: "pg_stat_user_tables",
    object: "Table",
    values: &[
        count("seq_scan", "Sequential Scans/sec", "Scans of the whole table."),
        count("seq_tup_read", "Sequential Rows/sec", "Rows that scans of the whole table read."),
        count("idx_scan", "Index Scans/sec", "Scans by an index."),
        count("idx_tup_fetch", "Index Rows/sec", "Rows that scans by an index fetched."),
        count("n_tup_ins", "Rows Inserted/sec", "Rows that were inserted."),
        count("n_tup_upd", "Rows Updated/sec", "Rows that were updated."),
        count("n_tup_del", "Rows Deleted/sec", "Rows that were deleted."),
        count("n_tup_hot_upd", "HOT Updates/sec", "Updates that no index had to follow."),
        whole("n_live_tup", "Live Rows", "Rows, estimated."),
        whole("n_dead_tup", "Dead Rows", "Rows that vacuum will remove, estimated."),
        whole(
            "n_mod_since_analyze",
            "Rows Changed",
            "Rows that changed since the table was analyzed, estimated.",
        ),
        count("vacuum_count", "Vacuums/sec", "Times that the table was vacuumed by hand."),
        count(
            "autovacuum_count",
            "Automatic Vacuums/sec",
            "Times that the table was vacuumed automatically.",
        ),
        count("heap_blks_read", "Blocks Read/sec", "Blocks of the table that were not in the buffer cache."),
        hit_rate(
            "heap_blks_hit",
            "heap_blks_all",
            "Buffer Cache Hit %",
            "Blocks of the table in the cache, of all.",
        ),
    ],
};

impl Speaks for PostgreSql {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_own(settings, SCHEMES)?;
        names(&Address::of(&settings.url, SCHEMES)?).map(|_| ())
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let address = Address::of(&settings.url, SCHEMES)?;
        let (user, database) = names(&address)?;
        let password = settings.password(read_secret)?;
        let mut server = Server { wire: Wire::connect(settings, &address, USUAL_PORT)? };
        server.log_on(user, database, password.as_deref())?;
        // A question that nobody waits for any more ends in the server too.
        server
            .ask(&format!("SET statement_timeout = {}", server.wire.ms_left()))?
            .map_err(|fault| fault.words())?;
        let mut metrics = Metrics::default();
        for view in VIEWS {
            match server.ask(view.sql)? {
                Ok(table) => table.add(view, &mut metrics),
                Err(fault) if fault.state == NO_SUCH_VIEW => {}
                Err(fault) => metrics.unread.push(format!("{}: {}", view.group.object, fault.words())),
            }
        }
        // It may wait for a word that the client goes; the connection ends all the same.
        let _ = server.wire.send(&message(b'X', &[]));
        match metrics.unread.first() {
            Some(words) if metrics.is_empty() => Err(words.clone()),
            _ => Ok(metrics),
        }
    }
}

/// The user and the database of an address.
fn names(address: &Address) -> Result<(&str, &str), String> {
    let words = "an address of PostgreSQL names the user: postgresql://USER@HOST/DATABASE";
    let user = address.user.as_deref().ok_or(words)?;
    let database = address.path.as_deref().unwrap_or(USUAL_DATABASE);
    if user.contains('\0') || database.contains(['\0', '/']) {
        return Err(words.to_owned());
    }
    Ok((user, database))
}

/// What the server says is wrong.
struct Fault {
    state: String,
    text: String,
}

impl Fault {
    fn of(body: &[u8]) -> Fault {
        let mut fault = Fault { state: String::new(), text: String::new() };
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            match kind {
                b'C' => fault.state = text,
                b'M' => fault.text = text,
                _ => {}
            }
        }
        fault
    }

    fn words(&self) -> String {
        format!("it answers {:?} ({})", shown(&self.text), shown(&self.state))
    }
}

/// The columns and rows of an answer.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl Table {
    fn add(&self, view: &View, metrics: &mut Metrics) {
        let places: HashMap<&str, usize> =
            self.columns.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let labels: Vec<&str> = view.labels.iter().map(|(_, label)| *label).collect();
        view.group.declare(metrics, &labels, |key| places.contains_key(key));
        for row in &self.rows {
            let text = |key: &str| row.get(*places.get(key)?)?.as_deref();
            let labels: Vec<(&str, &str)> = view
                .labels
                .iter()
                .map(|(column, label)| (*label, text(column).unwrap_or_default()))
                .collect();
            view.group.add(metrics, &labels, text);
        }
    }
}

/// A connection to a server.
struct Server {
    wire: Wire,
}

impl Server {
    /// The next message: its kind and its body.
    fn next(&mut self) -> Result<(u8, Vec<u8>), String> {
        let head = self.wire.take(5)?;
        let mut part = Part(&head);
        let wrong = || {
            format!(
                "the answer is none of PostgreSQL; it begins with {:?}",
                shown(&String::from_utf8_lossy(&head))
            )
        };
        let kind = part.take(1).and_then(<[u8]>::first).filter(|kind| kind.is_ascii_alphanumeric());
        let length = part.number().and_then(|length| usize::try_from(length.checked_sub(4)?).ok());
        match (kind, length.filter(|length| *length <= MOST_BYTES)) {
            (Some(kind), Some(length)) => Ok((*kind, self.wire.take(length)?)),
            _ => Err(wrong()),
        }
    }

    fn log_on(&mut self, user: &str, database: &str, password: Option<&str>) -> Result<(), String> {
        let mut start = PROTOCOL.to_be_bytes().to_vec();
        for (name, text) in [
            ("user", user),
            ("database", database),
            ("application_name", "tallymon"),
            ("client_encoding", "UTF8"),
        ] {
            start.extend_from_slice(format!("{name}\0{text}\0").as_bytes());
        }
        start.push(0);
        // The first message has no kind.
        self.wire.send(message(b'-', &start).get(1..).unwrap_or_default())?;
        let mut scram: Option<Scram> = None;
        loop {
            let (kind, body) = self.next()?;
            match kind {
                b'E' => return Err(Fault::of(&body).words()),
                b'Z' => return Ok(()),
                b'R' => self.authenticate(&body, password, &mut scram)?,
                // Settings, a key to cancel, notices.
                _ => {}
            }
        }
    }

    fn authenticate(
        &mut self,
        body: &[u8],
        password: Option<&str>,
        scram: &mut Option<Scram>,
    ) -> Result<(), String> {
        const UNPROVEN: &str = "the server does not prove that it knows the password";
        let mut part = Part(body);
        let code = part.number();
        let said = String::from_utf8_lossy(part.0).into_owned();
        let needs = || password.ok_or("the server wants a password; name a file with it");
        match (code, scram) {
            // A user who is let in by other means needs no password; a proof that has begun is ended.
            (Some(0), None) => Ok(()),
            (Some(0), Some(_)) => Err(UNPROVEN.to_owned()),
            (Some(3 | 5), _) => {
                Err("the server wants the password in clear text or as MD5, which others could \
                                     read; give the user a password with password_encryption = scram-sha-256"
                    .to_owned())
            }
            (Some(10), scram @ None) if said.split('\0').any(|name| name == "SCRAM-SHA-256") => {
                needs()?;
                let first = scram.insert(Scram::new()?).first();
                let length = u32::try_from(first.len()).map_err(|_| too_long())?;
                let answer =
                    [b"SCRAM-SHA-256\0".as_slice(), &length.to_be_bytes(), first.as_bytes()].concat();
                self.wire.send(&message(b'p', &answer))
            }
            (Some(11), Some(scram)) => {
                let answer = scram.answer(&said, needs()?)?;
                self.wire.send(&message(b'p', answer.as_bytes()))
            }
            (Some(12), scram) if scram.as_ref().is_some_and(|scram| scram.is_proven(&said)) => {
                *scram = None;
                Ok(())
            }
            (Some(12), _) => Err(UNPROVEN.to_owned()),
            _ => {
                Err("the server wants an authentication that is not known here; SCRAM-SHA-256 is".to_owned())
            }
        }
    }

    /// The answer to a question. The outer error ends the connection, the inner one only this question.
    fn ask(&mut self, sql: &str) -> Result<Result<Table, Fault>, String> {
        self.wire.send(&message(b'Q', format!("{sql}\0").as_bytes()))?;
        let (mut table, mut fault) = (Table::default(), None);
        loop {
            let (kind, body) = self.next()?;
            let broken = || "a row of the answer is broken".to_owned();
            match kind {
                b'T' => table.columns = columns(&body).ok_or_else(broken)?,
                b'D' => table.rows.push(row(&body).ok_or_else(broken)?),
                b'E' => fault = Some(Fault::of(&body)),
                b'Z' => return Ok(fault.map_or(Ok(table), Err)),
                _ => {}
            }
        }
    }
}

/// A message with its kind and length.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).saturating_add(4);
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

/// What of a message was not read yet.
struct Part<'a>(&'a [u8]);

impl<'a> Part<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1).map(|_| text)
    }
}

/// The names of the columns.
fn columns(body: &[u8]) -> Option<Vec<String>> {
    let mut part = Part(body);
    let mut columns = Vec::new();
    for _ in 0..part.short()? {
        columns.push(String::from_utf8_lossy(part.text()?).into_owned());
        // Table, column, type, its size, its modifier, format.
        part.take(18)?;
    }
    Some(columns)
}

/// The texts of a row; `None` inside is NULL.
fn row(body: &[u8]) -> Option<Vec<Option<String>>> {
    let mut part = Part(body);
    let mut row = Vec::new();
    for _ in 0..part.short()? {
        let length = part.number()?;
        row.push(if length == u32::MAX {
            None
        } else {
            Some(String::from_utf8_lossy(part.take(usize::try_from(length).ok()?)?).into_owned())
        });
    }
    Some(row)
}
