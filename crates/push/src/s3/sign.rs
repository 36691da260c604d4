//! Signatures of requests, version 4 of AWS, in the header `Authorization`.

use std::fs::File;
use std::io::{self, Read, Seek};

use ring::{digest, hmac};
use tallymon_core::time::FileTime;

use super::settings::Credentials;

/// A request as its signature sees it.
pub(super) struct Unsigned<'r> {
    pub(super) method: &'r str,
    /// The path, encoded.
    pub(super) path: &'r str,
    /// The part behind `?`, encoded and in the order of its names.
    pub(super) query: &'r str,
    /// Lower-case names and values, in the order of the names.
    pub(super) headers: &'r [(&'r str, &'r str)],
    /// The hash of the body, as hexadecimal digits.
    pub(super) payload: &'r str,
}

/// The value of `Authorization`. `time` is that of `x-amz-date`.
pub(super) fn authorization(
    request: &Unsigned<'_>,
    credentials: &Credentials,
    region: &str,
    time: &str,
) -> String {
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let headers: String =
        request.headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let Unsigned { method, path, query, payload, .. } = request;
    let canonical = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{payload}");
    let day = time.get(..8).unwrap_or_default();
    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
    let secret = format!("AWS4{}", credentials.secret);
    let key = [day, region, "s3", "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| keyed(&key, part.as_bytes()));
    let signature = hex(&keyed(&key, text.as_bytes()));
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credentials.id
    )
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

/// The hash of a file from its begin on, as hexadecimal digits.
pub(super) fn hash_of_file(file: &File) -> io::Result<String> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    let mut context = digest::Context::new(&digest::SHA256);
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(context.finish().as_ref())),
            read => context.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// The hash of bytes, as hexadecimal digits.
pub(super) fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time as `x-amz-date` has it: `20261126T141500Z`.
pub(super) fn date(time: FileTime) -> String {
    let at = time.system_time();
    format!("{:04}{:02}{:02}T{:02}{:02}{:02}Z", at.year, at.month, at.day, at.hour, at.minute, at.second)
}

/// A text for the address of a request: all but letters, digits and `-_.~` become `%` and a number. A path
/// keeps its `/`.
pub(super) fn encoded(text: &str, keeps_slash: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || (keeps_slash && letter == '/') {
            encoded.push(letter);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page "Authenticating Requests: Using the Authorization Header" of Amazon.
    #[test]
    fn requests_are_signed_as_amazon_signs_them() {
        let credentials = Credentials {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let host = ("host", "examplebucket.s3.amazonaws.com");
        let time = "20130524T000000Z";
        let empty = hash(b"");
        let welcome = hash(b"Welcome to Amazon S3.");
        let sum = |payload| ("x-amz-content-sha256", payload);
        let at = ("x-amz-date", time);
        for (method, path, query, headers, payload, signature) in [
            (
                "GET",
                "/test.txt",
                "",
                vec![host, ("range", "bytes=0-9"), sum(empty.as_str()), at],
                &empty,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "/test%24file.text",
                "",
                vec![
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    host,
                    sum(welcome.as_str()),
                    at,
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ],
                &welcome,
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "/",
                "max-keys=2&prefix=J",
                vec![host, sum(empty.as_str()), at],
                &empty,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let request = Unsigned { method, path, query, headers: &headers, payload };
            let header = authorization(&request, &credentials, "us-east-1", time);
            assert!(header.ends_with(&format!("Signature={signature}")), "{header}");
            assert!(header.contains("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"));
        }
        assert_eq!(encoded("/test$file.text", true), "/test%24file.text");
        assert_eq!(encoded("object=a%20b/c", false), "object%3Da%2520b%2Fc");
    }

    #[test]
    fn dates_have_no_separators() {
        let time = FileTime::from_unix_nanoseconds(1_369_353_600_000_000_000).unwrap();
        assert_eq!(date(time), "20130524T000000Z");
    }
}
