//! Debian's Samba, with folders of its own, for tests that read a performance registry.

use std::fs;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{peer, shared, skip};

/// A Samba that ends with its test. Its user is called `nobody`, who also is one of the system.
#[derive(Debug)]
pub struct Samba {
    smbd: Child,
    /// Its folders: `state/perfmon` has the databases with the counters.
    pub folder: String,
    /// Where it listens, at `127.0.0.1`.
    pub port: u16,
}

impl Drop for Samba {
    fn drop(&mut self) {
        let _ = self.smbd.kill();
        let _ = self.smbd.wait();
        // The helpers that smbd started outlive it.
        for entry in fs::read_dir(format!("{}/pid", self.folder)).into_iter().flatten().flatten() {
            if let Ok(text) = fs::read_to_string(entry.path()) {
                let _ = Command::new("kill").arg(text.trim()).stderr(Stdio::null()).status();
            }
        }
    }
}

impl Samba {
    /// The password of its user.
    pub const PASSWORD: &str = "Pass word #1";

    /// Starts one with these settings in a folder that its user can enter; `None`, with a reported skip,
    /// where it is not installed or this is not root. It has the counters of the sample databases.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start(folder: &Path, name: &str, settings: &str) -> Option<Samba> {
        let (smbd, smbpasswd) = (peer("smbd").or_else(|| sbin("smbd"))?, peer("smbpasswd")?);
        let samples = shared("samba")?;
        match Command::new("id").arg("-u").output() {
            Ok(user) if user.stdout == b"0\n" => {}
            _ => {
                skip("smbd needs root");
                return None;
            }
        }
        match Samba::try_start(&folder.join(name), settings, [&smbd, &smbpasswd, &samples]) {
            Ok(samba) => Some(samba),
            Err(error) => panic!("smbd does not start: {error}"),
        }
    }

    fn try_start(folder: &Path, settings: &str, [smbd, smbpasswd, samples]: [&Path; 3]) -> io::Result<Samba> {
        for part in ["private", "lock", "state/perfmon", "cache", "pid", "ncalrpc"] {
            fs::create_dir_all(folder.join(part))?;
        }
        for name in ["names.tdb", "data.tdb"] {
            let copy = folder.join("state/perfmon").join(name);
            fs::write(&copy, fs::read(samples.join(name))?)?;
            // The user who logs in reads them.
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o644))?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let below = folder.display();
        let text = format!(
            "[global]\nsmb ports = {port}\ninterfaces = 127.0.0.1/8\nbind interfaces only = yes\n\
             private dir = {below}/private\nlock directory = {below}/lock\nstate directory = {below}/state\n\
             cache directory = {below}/cache\npid directory = {below}/pid\nncalrpc dir = {below}/ncalrpc\n\
             log file = {below}/log\npassdb backend = tdbsam:{below}/private/passdb.tdb\n{settings}\n"
        );
        let file = folder.join("smb.conf");
        fs::write(&file, text)?;
        add_user(smbpasswd, &file)?;
        let smbd = Command::new(smbd)
            .arg("-s")
            .arg(&file)
            .args(["-F", "--no-process-group"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let samba = Samba { smbd, folder: below.to_string(), port };
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(("127.0.0.1", port)) {
            if begin.elapsed() > Duration::from_secs(60) {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(samba)
    }
}

fn add_user(smbpasswd: &Path, settings: &Path) -> io::Result<()> {
    let mut add = Command::new(smbpasswd)
        .arg("-c")
        .arg(settings)
        .args(["-s", "-a", "nobody"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut input) = add.stdin.take() {
        input.write_all(format!("{0}\n{0}\n", Samba::PASSWORD).as_bytes())?;
    }
    match add.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("smbpasswd adds no user")),
    }
}

/// A program of the system that is not in the `PATH` of everybody.
pub fn sbin(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/sbin").join(name);
    path.is_file().then_some(path)
}
