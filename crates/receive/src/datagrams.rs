//! Listens for packets of StatsD: UDP, and Unix sockets of datagrams.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use socket2::SockRef;

/// The longest packet, in bytes: the longest of UDP, and what senders put into a Unix socket.
pub(crate) const LONGEST: usize = 64 << 10;
/// The memory for packets that wait, in bytes. The system may give less.
const ROOM: usize = 4 << 20;
/// How often it is looked whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// A socket that packets come to.
#[derive(Debug)]
pub(crate) struct Packets(Box<dyn Listen>);

/// What packets can be taken from, one by one.
trait Listen: fmt::Debug + Send {
    /// The address, where a port may have been chosen.
    fn local_address(&self) -> Option<SocketAddr>;

    /// Waits for a packet, not longer than [`LOOK`].
    fn next(&self, buffer: &mut [u8]) -> io::Result<(usize, From)>;
}

impl Listen for UdpSocket {
    fn local_address(&self) -> Option<SocketAddr> {
        self.local_addr().ok()
    }

    fn next(&self, buffer: &mut [u8]) -> io::Result<(usize, From)> {
        self.recv_from(buffer).map(|(length, from)| (length, Some(from)))
    }
}

/// Where a packet came from: an address, or this machine.
pub(crate) type From = Option<SocketAddr>;

impl Packets {
    pub(crate) fn udp(address: SocketAddr) -> io::Result<Packets> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(LOOK))?;
        // With less room more is lost, and it is the system that counts it.
        let _ = SockRef::from(&socket).set_recv_buffer_size(ROOM);
        Ok(Packets(Box::new(socket)))
    }

    /// The address, where a port may have been chosen.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.0.local_address()
    }

    /// Passes packets on until `stop` is set. A packet as long as the buffer may have been longer.
    pub(crate) fn receive(&self, stop: &AtomicBool, mut take: impl FnMut(&[u8], From)) {
        let mut buffer = vec![0; LONGEST.saturating_add(1)];
        while !stop.load(Ordering::Relaxed) {
            match self.0.next(&mut buffer) {
                Ok((length, from)) => take(buffer.get(..length).unwrap_or_default(), from),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                // Windows tells here that an earlier sender has gone.
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

#[cfg(unix)]
pub(crate) mod unix {
    //! Unix sockets of datagrams.

    use std::fs::{self, Permissions};
    use std::io;
    use std::net::SocketAddr;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::UnixDatagram;
    use std::path::{Path, PathBuf};

    use socket2::SockRef;

    use super::Packets;

    /// Listens at a path.
    pub(crate) fn bind(path: &Path, mode: u32) -> io::Result<Packets> {
        Socket::bind(path, mode).map(|socket| Packets(Box::new(socket)))
    }

    /// A socket whose file goes with it.
    #[derive(Debug)]
    struct Socket {
        socket: UnixDatagram,
        path: PathBuf,
        /// Device and number of the file.
        file: (u64, u64),
    }

    impl Socket {
        /// Listens at a path. Its file never has other permissions than these: it is made in a folder that
        /// only this user enters, and then moved. A socket that a program has left behind is replaced.
        fn bind(path: &Path, mode: u32) -> io::Result<Socket> {
            if let Ok(about) = path.symlink_metadata() {
                let taken = |words| Err(io::Error::new(io::ErrorKind::AddrInUse, words));
                if !about.file_type().is_socket() {
                    return taken("the file is there already, and is no socket");
                }
                if UnixDatagram::unbound()?.connect(path).is_ok() {
                    return taken("another program listens there");
                }
            }
            let beside = path.with_added_extension(format!("{}.new", std::process::id()));
            fs::DirBuilder::new().mode(0o700).create(&beside)?;
            let made = Socket::make(&beside.join("s"), path, mode);
            // Only an empty folder is removed, and nobody else could put anything into it.
            let _ = fs::remove_file(beside.join("s"));
            let _ = fs::remove_dir(&beside);
            made
        }

        fn make(new: &Path, path: &Path, mode: u32) -> io::Result<Socket> {
            let socket = UnixDatagram::bind(new)?;
            fs::set_permissions(new, Permissions::from_mode(mode & 0o777))?;
            fs::rename(new, path)?;
            let about = path.symlink_metadata()?;
            socket.set_read_timeout(Some(super::LOOK))?;
            let _ = SockRef::from(&socket).set_recv_buffer_size(super::ROOM);
            Ok(Socket { socket, path: path.to_path_buf(), file: (about.dev(), about.ino()) })
        }
    }

    impl super::Listen for Socket {
        fn local_address(&self) -> Option<SocketAddr> {
            None
        }

        fn next(&self, buffer: &mut [u8]) -> io::Result<(usize, super::From)> {
            self.socket.recv(buffer).map(|length| (length, None))
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            // Another program may have put its own socket there.
            if self.path.symlink_metadata().is_ok_and(|about| (about.dev(), about.ino()) == self.file) {
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}
