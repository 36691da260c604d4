//! Object storage: what a real server takes and refuses, and servers that are away, lie or never end.
#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tallymon_push::s3::{Address, Bucket, S3Error};
use tallymon_testkit::{BucketServer, Does, ObjectStorage, Scratch, attack};

fn bucket(server: &ObjectStorage, [id, secret]: &[String; 2], address: &str) -> Bucket {
    at(&server.address, id, secret, address)
}

fn at(endpoint: &str, id: &str, secret: &str, address: &str) -> Bucket {
    in_region("us-east-1", endpoint, id, secret, address)
}

fn in_region(region: &str, endpoint: &str, id: &str, secret: &str, address: &str) -> Bucket {
    let variables = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(endpoint.to_owned()),
        "AWS_REGION" => Some(region.to_owned()),
        "AWS_ACCESS_KEY_ID" => Some(id.to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some(secret.to_owned()),
        _ => None,
    };
    Bucket::open(&Address::parse(address).unwrap(), &variables).unwrap()
}

#[test]
fn objects_come_back_as_they_were_put() {
    let Some(server) = ObjectStorage::start() else { return };
    let bucket = bucket(&server, &server.writer, "s3://lakes/a b/c");
    let name = "day=2026-11-26/object=Physical%20Disk/a+b&c=d?e#f ~ü.parquet";
    assert_eq!(bucket.get(name, 9).unwrap(), None);
    let folder = Scratch::new();
    let path = folder.join("file");
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, &bytes).unwrap();
    bucket.put_file(name, &std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(bucket.get(name, bytes.len()).unwrap().unwrap(), bytes);
    assert_eq!(bucket.get_range(name, 4_000_000, 9).unwrap(), &bytes[4_000_000..4_000_009]);
    assert_eq!(bucket.get_range(name, bytes.len() as u64 - 3, 3).unwrap(), &bytes[bytes.len() - 3..]);
    // Beyond its end, more than is wanted, and less than it says.
    assert!(bucket.get_range(name, bytes.len() as u64, 3).unwrap_err().to_string().contains("416"));
    assert!(matches!(bucket.get_range(name, bytes.len() as u64 - 3, 9), Err(S3Error::Wrong(_))));
    assert!(bucket.get(name, 100).unwrap_err().to_string().contains("more than 100 bytes"));
    let found = bucket.list("day=", None, usize::MAX).unwrap();
    assert_eq!((found.len(), found[0].key.as_str(), found[0].size), (1, name, bytes.len() as u64));
    assert!(found[0].modified.starts_with("20"), "{found:?}");
    bucket.delete(name).unwrap();
    bucket.delete(name).unwrap();
    assert_eq!(bucket.list("", None, usize::MAX).unwrap(), []);
}

#[test]
fn a_name_is_given_once_and_lists_have_pages() {
    let Some(server) = ObjectStorage::start() else { return };
    let bucket = Arc::new(bucket(&server, &server.writer, "s3://lakes"));
    bucket.prove_names_are_given_once("_tally/proof").unwrap();
    // Eight writers, each for every name.
    let given = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (bucket, given) = (&bucket, &given);
            scope.spawn(move || {
                for name in 0..140 {
                    let name = format!("x/{name:04}");
                    if bucket.put_new(&name, format!("{writer}").as_bytes()).unwrap() {
                        given.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(given.into_inner(), 140);
    assert_eq!(bucket.list("x/", None, usize::MAX).unwrap().len(), 140);
    assert_eq!(bucket.list("x/", Some("x/0136"), usize::MAX).unwrap().len(), 3);
    assert!(bucket.list("y/", None, usize::MAX).unwrap().is_empty());
}

#[test]
fn who_may_not_and_what_is_not_there_is_said() {
    let Some(server) = ObjectStorage::start() else { return };
    let reader = bucket(&server, &server.reader, "s3://lakes/x");
    assert_eq!(reader.list("", None, 9).unwrap(), []);
    let error = reader.put_new("a", b"b").unwrap_err().to_string();
    assert!(error.contains("403 Forbidden, AccessDenied") && error.contains("the environment"), "{error}");
    let [id, secret] = &server.writer;
    let error = in_region("eu-west-1", &server.address, id, secret, "s3://lakes")
        .get("a", 9)
        .unwrap_err()
        .to_string();
    assert!(error.contains("400") && error.contains("the bucket is in \"us-east-1\""), "{error}");
    for (id, secret, address, words) in [
        (id.as_str(), "wrong", "s3://lakes/x", "SignatureDoesNotMatch"),
        ("AKIANOBODY", secret.as_str(), "s3://lakes/x", "InvalidAccessKeyId"),
        (id, secret, "s3://nobody/x", "404 Not Found, NoSuchBucket: there is no such bucket"),
    ] {
        let bucket = at(&server.address, id, secret, address);
        for error in [
            bucket.get("a", 9).map(drop).unwrap_err(),
            bucket.put_new("a", b"b").map(drop).unwrap_err(),
            bucket.list("", None, 9).map(drop).unwrap_err(),
        ] {
            let words_found = error.to_string();
            assert!(words_found.contains(words) && !words_found.contains(secret), "{words}: {words_found}");
            assert!(!error.is_passing());
        }
    }
}

#[test]
fn addresses_are_buckets_and_folders() {
    for (text, shown) in
        [("s3://a", "s3://a"), ("s3://a/", "s3://a"), ("s3://a.b-c/d e/f/", "s3://a.b-c/d e/f")]
    {
        assert_eq!(Address::parse(text).unwrap().to_string(), shown);
    }
    for text in
        ["s3:///x", "s3://", "x", "s3://a:b@c/d", "s3://a/../b", "s3://a//b", "s3://a/\n", "s3://../a"]
    {
        assert!(Address::parse(text).is_err(), "{text}");
    }
}

/// A server that gives the same answers in turn, the last one for ever, and keeps the heads of requests. An
/// answer that ends with `…` is followed by zeros until nobody reads them.
fn says(answers: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let mut input = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while input.read_line(&mut head).is_ok_and(|read| read > 2) {
                let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
                if let Some(found) = line.strip_prefix("content-length:") {
                    length = found.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            let _ = input.read_exact(&mut body);
            let nth = kept.lock().unwrap().len();
            kept.lock().unwrap().push(head);
            let answer = answers.get(nth).or(answers.last()).unwrap();
            let mut stream = stream;
            let _ = stream.write_all(answer.trim_end_matches('…').as_bytes());
            while answer.ends_with('…') && stream.write_all(&[0; 4096]).is_ok() {}
        }
    });
    (address, heads)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn a_busy_server_gets_the_same_request_again() {
    let busy = answer("503 Slow Down", "Retry-After: 0\r\n", "<Error><Code>SlowDown</Code></Error>");
    let closed = String::new();
    let (address, heads) = says(vec![busy, closed, answer("200 OK", "", "")]);
    let bucket = at(&address, "id", "secret", "s3://b/x");
    assert!(bucket.put_new("a", b"b").unwrap());
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 3);
    assert!(heads.iter().all(|head| head.starts_with("PUT /b/x/a HTTP/1.1")), "{heads:?}");
    assert!(heads[2].to_lowercase().contains("if-none-match: *"), "{heads:?}");
}

#[test]
fn a_lost_answer_is_no_other_writer() {
    // The first try has written it, and its answer is lost.
    let taken = answer("412 Precondition Failed", "", "<Error><Code>PreconditionFailed</Code></Error>");
    for (stored, expected) in [("mine", true), ("their", false), ("theirs", false), ("", false)] {
        let (address, heads) = says(vec![String::new(), taken.clone(), answer("200 OK", "", stored)]);
        let result = at(&address, "id", "secret", "s3://b").put_new("a", b"mine");
        // What is longer than ours is not ours either.
        assert_eq!(result.unwrap(), expected, "{stored}");
        assert_eq!(heads.lock().unwrap().len(), 3);
    }
}

#[test]
fn an_answer_lost_on_a_connection_that_stayed_open_is_no_other_writer() {
    // The first request of a connection is answered. The second one is done, and its answer is lost.
    let server = BucketServer::start(|asked| match (asked.method.as_str(), asked.nth) {
        ("PUT", 2) => Does::Lost,
        _ => Does::All,
    });
    let bucket = at(&server.address, "id", "secret", "s3://b");
    assert_eq!(bucket.get("a", 9).unwrap(), None);
    assert!(bucket.put_new("a", b"mine").unwrap());
    assert_eq!(bucket.get("a", 9).unwrap().unwrap(), b"mine");
    assert!(!bucket.put_new("a", b"theirs").unwrap());
    assert_eq!(bucket.get("a", 9).unwrap().unwrap(), b"mine");
}

#[test]
fn the_object_of_a_folder_is_none_below_it() {
    let server = BucketServer::start(|_| Does::All);
    // As consoles make an empty folder.
    assert!(at(&server.address, "id", "secret", "s3://b").put_new("x/", b"").unwrap());
    let bucket = at(&server.address, "id", "secret", "s3://b/x");
    assert_eq!(bucket.list("", None, 1).unwrap(), []);
    bucket.put_new("a", b"mine").unwrap();
    assert_eq!(bucket.list("", None, 1).unwrap()[0].key, "a");
}

#[test]
fn a_request_that_can_not_be_made_is_not_sent_again() {
    let server = BucketServer::start(|_| Does::All);
    // A key with a character that no header can have.
    let error = at(&server.address, "i\u{1}d", "secret", "s3://b").get("a", 9).unwrap_err();
    let words = error.to_string();
    assert!(!error.is_passing() && !words.contains("no connection"), "{words}");
    assert!(words.contains("the name of the access key"), "{words}");
}

#[test]
fn regions_and_clocks_are_named() {
    let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong\
                     </Message><Region>eu-central-1</Region></Error>";
    let skewed = "<Error><Code>RequestTimeTooSkewed</Code><Message>too large</Message></Error>";
    for (answer, words) in [
        (
            answer("400 Bad Request", "", malformed),
            &["400", "\"us-east-1\"", "\"eu-central-1\"", "AWS_REGION"][..],
        ),
        (
            answer(
                "301 Moved Permanently",
                "x-amz-bucket-region: eu-west-3\r\nLocation: http://127.0.0.1:1/\r\n",
                "",
            ),
            &["301", "\"eu-west-3\"", "redirects are not followed"],
        ),
        (
            answer("403 Forbidden", "Date: Thu, 26 Nov 2020 14:00:00 GMT\r\n", skewed),
            &["RequestTimeTooSkewed", "differ by", "set the clock"],
        ),
        (
            answer(
                "403 Forbidden",
                "Date: Thu, 26 Nov 2020 14:00:00 GMT\r\n",
                &skewed.replace("RequestTimeTooSkewed", "SignatureDoesNotMatch"),
            ),
            &["SignatureDoesNotMatch", "set the clock"],
        ),
        (answer("501 Not Implemented", "", ""), &["501", "If-None-Match"]),
    ] {
        let (address, heads) = says(vec![answer]);
        let error = at(&address, "id", "secret", "s3://b").put_new("a", b"b").unwrap_err().to_string();
        assert!(words.iter().all(|words| error.contains(words)), "{words:?}: {error}");
        assert_eq!(heads.lock().unwrap().len(), 1, "it is not asked again");
    }
}

#[test]
fn a_server_that_gives_a_name_twice_is_refused() {
    let (address, _) = says(vec![answer("200 OK", "", "")]);
    let bucket = at(&address, "id", "secret", "s3://b");
    let error = bucket.prove_names_are_given_once("proof").unwrap_err().to_string();
    assert!(error.contains("If-None-Match"), "{error}");
}

#[test]
fn attack_hostile_object_storage() {
    let page = |inner: &str| answer("200 OK", "", &format!("<ListBucketResult>{inner}</ListBucketResult>"));
    let endless = |head: &str| format!("HTTP/1.1 {head}\r\nContent-Length: 99999999999\r\n\r\n…");
    let range = "206 Partial Content";
    type Does = fn(&Bucket) -> Result<(), S3Error>;
    let get: Does = |bucket| bucket.get("a", 100).map(drop);
    let part: Does = |bucket| bucket.get_range("a", 10, 4).map(drop);
    let list: Does = |bucket| bucket.list("", None, usize::MAX).map(drop);
    for (answer, does, words) in [
        (endless("200 OK"), get, "more than 100 bytes"),
        (endless("206 Partial Content"), part, "more than 4 bytes"),
        (endless("403 Forbidden"), get, "more than"),
        (answer(range, "Content-Range: bytes 0-3/9\r\n", "abcd"), part, "bytes 0-3/9"),
        (answer(range, "", "ab"), part, "has 2 bytes"),
        (answer("200 OK", "", "abcd"), part, "whole object"),
        (endless("200 OK"), list, "more than"),
        (
            page("<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>"),
            list,
            "does not go on",
        ),
        (
            page(
                "<Contents><Key>x/a</Key></Contents><IsTruncated>true</IsTruncated>\
                 <NextContinuationToken>a</NextContinuationToken>",
            ),
            list,
            "does not go on",
        ),
        (answer("200 OK", "", "<html>"), list, "the list"),
        (answer("302 Found", "Location: http://127.0.0.1:1/x\r\n", ""), get, "302"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".to_owned(), get, "no answer"),
        ("220 mail.example.org ESMTP\r\n".to_owned(), get, "no answer"),
    ] {
        let (address, _) = says(vec![answer.clone()]);
        let error = does(&at(&address, "id", "secret", "s3://b/x")).unwrap_err().to_string();
        let start: String = answer.chars().take(60).collect();
        assert!(error.contains(words), "{start:?}: {words}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    // Pages that lead to each other, with keys that are not ours.
    let to = |token: &str| {
        let next = format!("<NextContinuationToken>{token}</NextContinuationToken>");
        page(&format!("<Contents><Key>y/b</Key></Contents><IsTruncated>true</IsTruncated>{next}"))
    };
    let pages: Vec<String> = ["a", "b"].iter().cycle().take(20).map(|token| to(token)).collect();
    let (address, heads) = says(pages);
    let error = list(&at(&address, "id", "secret", "s3://b/x")).unwrap_err().to_string();
    assert!(error.contains("does not go on"), "{error}");
    assert_eq!(heads.lock().unwrap().len(), 3);
    // Keys of others in a list are left out.
    let (address, _) =
        says(vec![page("<Contents><Key>y/b</Key></Contents><Contents><Key>x/a</Key></Contents>")]);
    let found = at(&address, "id", "secret", "s3://b/x").list("", None, usize::MAX).unwrap();
    assert_eq!(found.iter().map(|found| found.key.as_str()).collect::<Vec<_>>(), ["a"]);
    attack(
        "other machines",
        "a server of object storage that lies about lengths, never ends, or redirects",
        "an error says what was wrong; nothing is followed, and memory stays bounded",
    );
}

#[test]
fn a_server_that_is_away_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bucket = at(&format!("http://{free}"), "id", "secret", "s3://b");
    let error = bucket.get("a", 9).unwrap_err();
    assert!(error.is_passing() && error.to_string().contains("no connection"), "{error}");
}
