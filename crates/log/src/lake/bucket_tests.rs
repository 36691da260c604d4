//! Lakes in object storage whose answers are lost, or do not come.

use super::*;

use std::sync::atomic::{AtomicU64, Ordering};

use tallymon_testkit::{Asked, BucketServer, Does, Scratch};

use crate::lake::commit::Table;
use crate::lake::put::put_into;
use crate::lake::read::LakeReader;
use crate::reader::LogReader as _;
use crate::relog::{Options, Report};
use crate::{Format, LogError, ReadOptions};

/// The lake of a server, as another process sees it.
fn store(server: &BucketServer) -> Arc<dyn Store> {
    // What this process knows of a lake is kept by its address.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let address = Address::parse(&format!("s3://b/{number}")).unwrap();
    Arc::new(BucketStore::of(Bucket::open(&address, &|name| server.variable(name)).unwrap()))
}

fn put(store: &Arc<dyn Store>, folder: &Path) -> Result<Report, LogError> {
    let log = folder.join("log.csv");
    let head = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\Memory\\Available Bytes\",\"\\\\h\\Disk(a)\\Reads\"";
    let rows = "\"11/26/2016 13:00:00.500\",\"1\",\"2\"\r\n\"11/26/2016 13:00:01.500\",\"3\",\"4\"";
    std::fs::write(&log, format!("{head}\r\n{rows}\r\n")).unwrap();
    let options = Options { format: Format::Lake, ..Options::default() };
    put_into(Arc::clone(store), &[log], &options)
}

/// Records and faults.
fn read(store: &Arc<dyn Store>) -> Result<(u64, u64), LogError> {
    let table = Table::open_in(Arc::clone(store))?;
    let mut reader = LakeReader::of_table(table, &ReadOptions::default())?;
    while reader.next_record()?.is_some() {}
    Ok((reader.about().records, reader.about().notes.damage_count))
}

fn is_version(asked: &Asked, number: u64) -> bool {
    asked.method == "PUT" && asked.path.ends_with(&name_of(number))
}

#[test]
fn a_version_whose_answer_is_lost_keeps_its_parts() {
    // The connection was used before, so it sends the version again by itself.
    let server = BucketServer::start(|asked| match is_version(asked, 1) && asked.nth > 1 {
        true => Does::Lost,
        false => Does::All,
    });
    let (store, folder) = (store(&server), Scratch::new());
    let report = put(&store, &folder).unwrap();
    assert_eq!((report.is_known, report.records), (false, 2));
    assert_eq!(read(&store).unwrap(), (2, 0));
}

#[test]
fn a_version_that_may_still_arrive_keeps_its_parts() {
    // It is refused, so this process does not know that it comes. The others see it later.
    let server = BucketServer::start(|asked| match is_version(asked, 1) {
        true => Does::Refused("504 Gateway Timeout\r\nRetry-After: 0"),
        false => Does::All,
    });
    let (store, folder) = (store(&server), Scratch::new());
    let error = put(&store, &folder).unwrap_err().to_string();
    assert!(error.contains("504"), "{error}");
    let parts = server.paths().iter().filter(|path| path.ends_with(".parquet")).count();
    assert_eq!(parts, 2);
}

#[test]
fn a_part_that_the_server_does_not_give_is_no_damage() {
    let away = Arc::new(Mutex::new(None));
    let answers = Arc::clone(&away);
    let server = BucketServer::start(move |asked| match *answers.lock().unwrap() {
        Some(status) if asked.method == "GET" && asked.path.contains("object=Memory") => {
            Does::Refused(status)
        }
        _ => Does::All,
    });
    let (store, folder) = (store(&server), Scratch::new());
    put(&store, &folder).unwrap();
    for status in ["403 Forbidden", "503 Slow Down\r\nRetry-After: 0"] {
        *away.lock().unwrap() = Some(status);
        let error = read(&store).unwrap_err().to_string();
        let code = status.split(' ').next().unwrap();
        assert!(error.contains(code) && error.contains("object=Memory/part-"), "{error}");
    }
    *away.lock().unwrap() = Some("404 Not Found");
    assert_eq!(read(&store).unwrap(), (2, 1));
    *away.lock().unwrap() = None;
    assert_eq!(read(&store).unwrap(), (2, 0));
}
