//! The views that are read, and the counters that their columns become.

use crate::kinds::known::{Group, average_time, count, gauge, hit_rate, share, time, whole};

/// A question, the columns that name an instance, and what becomes of the others. Each takes the columns that
/// the version of the server has.
pub(super) struct View {
    pub(super) sql: &'static str,
    /// Columns, and the labels that they become.
    pub(super) labels: &'static [(&'static str, &'static str)],
    pub(super) group: Group,
}

/// At most 1,000 databases and replicas and 200 tables have instances.
pub(super) const VIEWS: &[View] = &[
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
