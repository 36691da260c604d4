//! Logs as SQLite databases and Parquet files, read by others and by us.

use std::fs;
use std::process::Command;

use super::support::{Folder, has, tally};
use tallymon_testkit::{peer, shared, skip};

/// Reads the database with Python's own library, which shares nothing with ours but the engine of SQLite.
const DATABASE: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
sets = db.execute("SELECT DisplayString, LogStartTime, LogStopTime, NumberOfRecords, MinutesToUTC FROM DisplayToID").fetchall()
first = db.execute("SELECT FirstValueA & 0xffffffff | FirstValueB << 32 FROM CounterData ORDER BY RecordIndex, CounterID LIMIT 1").fetchone()[0]
# The tables as Windows has them: the key begins with the counter, and there is no table of reasons.
copy = sqlite3.connect(sys.argv[2])
copy.executescript("""
    CREATE TABLE CounterData (GUID char(64), CounterID int, RecordIndex int, CounterDateTime char(24),
        CounterValue float,
        FirstValueA int, FirstValueB int, SecondValueA int, SecondValueB int, MultiCount int,
        PRIMARY KEY (GUID, CounterID, RecordIndex));
    CREATE TABLE CounterDetails (CounterID int PRIMARY KEY, MachineName varchar(1024),
        ObjectName varchar(1024),
        CounterName varchar(1024), CounterType int, DefaultScale int,
        InstanceName varchar(1024), InstanceIndex int,
        ParentName varchar(1024), ParentObjectID int, TimeBaseA int, TimeBaseB int);
    CREATE TABLE DisplayToID (GUID char(64) PRIMARY KEY, RunID int, DisplayString varchar(1024) UNIQUE,
        LogStartTime char(24), LogStopTime char(24), NumberOfRecords int, MinutesToUTC int,
        TimeZoneName char(32));""")
for table in ("CounterData", "CounterDetails", "DisplayToID"):
    all = db.execute(f"SELECT * FROM {table}").fetchall()
    if table == "CounterData":
        columns = [row[1] for row in db.execute("PRAGMA table_info(CounterData)")]
        assert columns[:4] == ["GUID", "CounterID", "RecordIndex", "CounterDateTime"], columns
    copy.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(all[0]))})", all)
copy.commit()
print(json.dumps({"sets": sets, "first": str(first)}))
"#;

pub(crate) fn python(script: &str, arguments: &[&str]) -> Option<serde_json::Value> {
    let out = Command::new(peer("python3")?).args(["-c", script]).args(arguments).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

/// What there is of Parquet's readers must be there where peers are required.
fn is_missing(found: &serde_json::Value) -> bool {
    let Some(missing) = found["missing"].as_str() else { return false };
    let required = std::env::var_os("TALLYMON_PEERS").is_some_and(|peers| peers == "required");
    assert!(!required, "{missing}");
    skip(missing);
    true
}

#[test]
fn a_database_has_the_tables_of_windows() {
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let log = log.to_str().unwrap();
    let folder = Folder::new();
    let (database, theirs) = (folder.file("log.sqlite"), folder.file("theirs.db"));
    let ran = tally(&["relog", log, "-o", &database]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let Some(found) = python(DATABASE, &[&database, &theirs]) else { return };
    assert_eq!(
        found["sets"],
        serde_json::json!([["log", "2016-11-26 21:46:30.874", "2016-11-26 21:47:42.983", 25, 480]])
    );
    // Read again, by the raw values, it is the log that it was; also out of tables as Windows makes them.
    let twin = fs::read_to_string(shared("logs/PowerShell_CounterSamples.csv").unwrap()).unwrap();
    for database in [&database, &theirs] {
        let text = tally(&["relog", database, "-f", "csv", "--lf"]).out;
        for (ours, twin) in text.lines().zip(twin.lines()).skip(1) {
            // Windows' clock has 100 ns in this log and milliseconds in a database, so rates differ a little.
            let numbers = |line: &str| -> Vec<String> {
                line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect()
            };
            for (ours, twin) in numbers(ours).iter().zip(&numbers(twin)).skip(1) {
                match (ours.parse::<f64>(), twin.parse::<f64>()) {
                    (Ok(ours), Ok(twin)) => {
                        assert!((ours - twin).abs() <= twin.abs() * 1e-3, "{ours} is not {twin}")
                    }
                    _ => assert_eq!(ours, twin),
                }
            }
        }
        assert_eq!(text.lines().count(), twin.lines().count());
        has(
            &tally(&["info", database]).out,
            &["SQLite database", "records  25", "charlieparker: 10 columns"],
        );
    }
}

#[test]
fn a_database_without_a_log_is_refused() {
    let folder = Folder::new();
    let empty = folder.write("empty.db", b"SQLite format 3\0");
    has(&tally(&["info", &empty]).words(7), &["empty.db", "CounterDetails"]);
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let database = folder.file("log.sqlite");
    assert_eq!(tally(&["relog", log.to_str().unwrap(), "-o", &database]).code, Some(0));
    let mut bytes = fs::read(&database).unwrap();
    for (at, byte) in bytes.iter_mut().enumerate().skip(4096) {
        *byte ^= (at % 251) as u8;
    }
    let damaged = folder.write("damaged.sqlite", &bytes);
    has(&tally(&["info", &damaged]).words(7), &["damaged.sqlite"]);
    has(&tally(&["relog", log.to_str().unwrap(), "-f", "sqlite"]).err, &["to a file only"]);
}

/// Reads a Parquet file with DuckDB and with pandas.
const PARQUET: &str = r#"
import json, sys
try:
    import duckdb, pandas
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
frame = pandas.read_parquet(sys.argv[1])
times = duckdb.sql(f"SELECT min(time)::VARCHAR, max(time)::VARCHAR, count(DISTINCT time) FROM '{sys.argv[1]}'").fetchall()
missing = duckdb.sql(f"SELECT DISTINCT missing FROM '{sys.argv[1]}' WHERE value IS NULL").fetchall()
print(json.dumps({"times": [str(part) for part in times[0]],
                  "types": {name: str(kind) for name, kind in frame.dtypes.items()}, "why": missing}, default=str))
"#;

#[test]
fn duckdb_and_pandas_read_parquet() {
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let log = log.to_str().unwrap();
    let folder = Folder::new();
    let file = folder.file("log.parquet");
    let ran = tally(&["relog", log, "-o", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // It is a log again, and gives what the first one gives.
    for command in [&["relog"][..], &["stats", "--json"], &["get", r"\Processor(*)\*", "--log"]] {
        let of = |file: &str| {
            let ran = tally(&[command, &[file]].concat());
            assert_eq!(ran.code, Some(0), "{command:?} {}", ran.err);
            ran.out.replace(file, "LOG")
        };
        assert_eq!(of(&file), of(log), "{command:?}");
    }
    let Some(found) = python(PARQUET, &[&file]) else { return };
    if is_missing(&found) {
        return;
    }
    assert_eq!(found["times"][2].as_str(), Some("25"));
    has(found["times"][0].as_str().unwrap(), &["2016-11-26", ":46:30.874"]);
    assert_eq!(found["types"]["first"].as_str(), Some("int64"));
    assert_eq!(found["why"], serde_json::json!([["a second sample is needed"]]));
}

/// The parts of a document that are in one language.
fn code<'t>(document: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("```{language}\n");
    document.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

/// Runs queries where the logs are, each with what it is written for, and prints their rows.
const QUERIES: &str = r#"
import json, sqlite3, sys
try:
    # The last one is what DuckDB hands times over with.
    import duckdb, pandas, pytz
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
queries, frames = json.loads(sys.argv[1])
rows = []
for query in queries:
    if ".parquet'" in query:
        rows.append(duckdb.sql(query).fetchall())
    else:
        rows.append(sqlite3.connect("today.sqlite").execute(query).fetchall())
for code in frames:
    *before, last = code.strip().splitlines()
    names = {"pandas": pandas}
    exec("\n".join(before), names)
    rows.append(eval(last, names).reset_index().values.tolist())
print(json.dumps(rows, default=str))
"#;

/// The queries of the documents, taken from there, give the figures of `tally stats`.
#[test]
fn queries_of_the_documents_work() {
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let log = log.to_str().unwrap();
    let Some(python) = peer("python3") else { return };
    let folder = Folder::new();
    for name in ["today.parquet", "today.sqlite", "customer.parquet"] {
        assert_eq!(tally(&["relog", log, "-o", &folder.file(name)]).code, Some(0));
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/recording.md")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let mut queries = code(&document, "sql");
    let lines = readme.lines().filter_map(|line| line.strip_prefix("$ duckdb -c "));
    queries.extend(lines.map(|line| line.trim_matches('"')));
    let frames = code(&document, "python");
    let both = serde_json::json!([queries, frames]).to_string();
    let out = Command::new(python).args(["-c", QUERIES, &both]).current_dir(folder.path()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    if is_missing(&found) {
        return;
    }
    let stats = tally(&["stats", log, "--json"]).json();
    let counters = stats["counters"].as_array().unwrap();
    let usual = ["/count", "/minimum", "/maximum", "/mean"];
    let more = [&usual[..], &["/deviation", "/percentiles/p95"]].concat();
    let total =
        counters.iter().find(|counter| counter["path"].as_str().unwrap().contains("processor(")).unwrap();
    let [duck, lite, duck_row, lite_row, readme, pandas] = found.as_array().unwrap().as_slice() else {
        panic!("{} queries", found.as_array().unwrap().len())
    };
    for (rows, columns) in
        [(duck, &more[..]), (lite, &usual[..]), (pandas, &usual[..]), (readme, &["/mean", "/maximum"])]
    {
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), counters.len());
        for counter in counters {
            let row = rows.iter().find(|row| row[0] == counter["path"]);
            let row = row.unwrap_or_else(|| panic!("no {}: {rows:?}", counter["path"]));
            for (at, column) in columns.iter().enumerate() {
                let found = row[at + 1].as_f64().unwrap();
                let wanted = counter.pointer(column).unwrap().as_f64().unwrap();
                assert!((found - wanted).abs() <= wanted.abs() * 1e-9, "{counter}: {column} {found}");
            }
        }
    }
    // One counter over time: all its values, and none for the first record.
    for rows in [duck_row, lite_row] {
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len() as u64, total["count"].as_u64().unwrap() + 1);
        assert!(rows[0][1].is_null(), "{rows:?}");
        assert_eq!(rows.last().unwrap()[1], total["last"]);
    }
}
