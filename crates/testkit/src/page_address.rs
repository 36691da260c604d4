//! The address that `tally serve` prints, and questions to it.
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where a server of the page listens.
#[derive(Debug, Clone)]
pub struct PageAddress {
    /// Host and port.
    at: String,
    /// The folder of the page, with a slash at both ends.
    folder: String,
    token: String,
}

impl PageAddress {
    /// Reads the first line that a server prints.
    ///
    /// # Panics
    ///
    /// When it is not an address.
    pub fn read(output: impl Read) -> PageAddress {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let (at, rest) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (folder, token) = rest.split_once("?token=").unwrap();
        PageAddress { at: at.to_owned(), folder: format!("/{folder}"), token: token.to_owned() }
    }

    /// Gets what is below the folder of the page, with the token: its status and its body.
    ///
    /// # Panics
    ///
    /// When the server does not answer as HTTP.
    pub fn ask(&self, target: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let PageAddress { at, token, folder } = self;
        write!(
            stream,
            "GET {folder}{target} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
    }
}
