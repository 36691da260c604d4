//! A server of PostgreSQL with its own programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_bridge::Settings;
use tallymon_testkit::{Ends, Scratch, skip};

use crate::support::{free_port, output, start, wait_until};

/// The folder with the programs of a PostgreSQL server of Debian; `None` (and a reported skip) without one.
fn postgresql() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found =
        versions.map(|version| version.path().join("bin")).filter(|folder| folder.join("initdb").exists());
    let found = found.max();
    if found.is_none() {
        skip("no PostgreSQL server is installed");
    }
    found
}

/// A program of PostgreSQL, which does not run as root.
fn as_postgres(folder: &Path, program: &str) -> Command {
    let mut id = Command::new("id");
    let program = folder.join(program);
    if output(id.arg("-u")) != "0" {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// A server with the database `app`, whose user `admin` has a password.
pub(crate) struct PostgreSql {
    programs: PathBuf,
    pub(crate) folder: Scratch,
    pub(crate) port: u16,
    _server: Ends,
}

impl PostgreSql {
    /// `None` (and a reported skip) when it is not installed.
    pub(crate) fn start() -> Option<PostgreSql> {
        PostgreSql::start_with(|_| Vec::new())
    }

    /// With more settings, for files that it made of its folder of data.
    pub(crate) fn start_with(settings: impl FnOnce(&Path) -> Vec<String>) -> Option<PostgreSql> {
        let programs = postgresql()?;
        let (folder, port) = (Scratch::new(), free_port());
        let (data, secret) = (folder.join("data"), folder.join("secret"));
        std::fs::write(&secret, "open sesame\n").unwrap();
        output(Command::new("chmod").arg("755").arg(&*folder));
        std::fs::create_dir(&data).unwrap();
        if output(Command::new("id").arg("-u")) == "0" {
            output(Command::new("chown").arg("postgres").args([&data, &secret]));
        }
        let mut init = as_postgres(&programs, "initdb");
        init.args([
            "-A",
            "scram-sha-256",
            "-U",
            "admin",
            "--no-sync",
            "--no-locale",
            "-E",
            "UTF8",
            "--pwfile",
        ]);
        output(init.arg(&secret).arg("-D").arg(&data).current_dir("/"));
        let settings = settings(&data);
        if output(Command::new("id").arg("-u")) == "0" {
            output(Command::new("chown").arg("-R").arg("postgres").arg(&data));
        }
        let mut server = as_postgres(&programs, "postgres");
        server.arg("-D").arg(&data).args(["-F", "-h", "127.0.0.1", "-p", &port.to_string(), "-k"]).arg(&data);
        settings.iter().for_each(|setting| {
            server.arg("-c").arg(setting);
        });
        let server = PostgreSql { _server: start(server.current_dir("/")), programs, folder, port };
        wait_until("PostgreSQL answers", || server.psql("postgres", "SELECT 1").status.success());
        server.say("postgres", "CREATE DATABASE app");
        Some(server)
    }

    pub(crate) fn psql(&self, database: &str, sql: &str) -> std::process::Output {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-XAtq", "-h", "127.0.0.1", "-U", "admin", "-p", &self.port.to_string()]);
        psql.args(["-d", database, "-c", sql]).env("PGPASSWORD", "open sesame").stdin(Stdio::null());
        psql.output().unwrap()
    }

    /// What the server says by its own program.
    pub(crate) fn say(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn number(&self, sql: &str) -> u64 {
        self.say("app", sql).parse().unwrap()
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.folder.join("secret")
    }

    pub(crate) fn settings(&self, user: &str, database: &str) -> Settings {
        let url = format!("postgresql://{user}@127.0.0.1:{}/{database}", self.port);
        Settings { url, password: Some(self.secret()), ..Settings::default() }
    }
}
