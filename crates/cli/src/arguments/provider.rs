//! Arguments of `tally provider`, `lodctr`, `unlodctr` and `compat`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Provider {
    #[command(flatten)]
    pub(crate) scope: ScopeOptions,
    #[command(subcommand)]
    pub(crate) action: ProviderAction,
}

/// Which registry is changed; without an option that of the system for those who may, else that of the user.
#[derive(Debug, Args)]
pub(crate) struct ScopeOptions {
    /// The registry of the system, which everybody reads.
    #[arg(long, global = true, conflicts_with = "user")]
    pub(crate) system: bool,
    /// The registry of this user, which wins where both have something.
    #[arg(long, global = true)]
    pub(crate) user: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderAction {
    /// Install names and registrations.
    Add(ProviderAdd),
    /// Remove services with their names.
    Remove {
        /// Names of services, GUIDs or names of providers of manifests, or manifests.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// List the services of both registries.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what would be installed, and write nothing; for the name of a service, load its library and check it.
    Check(ProviderFiles),
    /// Write everything that is installed to a file, which 'tally lodctr /R:FILE' takes back.
    Export {
        /// The file; standard output without one.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Have services asked again.
    Enable {
        /// Names of services.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// Have services no longer asked.
    Disable {
        /// Names of services.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// Add the other languages of INI files to services whose names are installed.
    Translate {
        /// INI files, with symbol files beside them.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Code page of files that are neither UTF-16 nor UTF-8.
        #[arg(long, value_name = "NUMBER")]
        code_page: Option<u32>,
    },
    /// Set numbers that say how libraries are asked: of one service, or of all. Without any, show what can be set and what
    /// is.
    Set(ProviderSet),
    /// Undo the last change, or go to another version that is kept.
    Rollback {
        /// Number of the version.
        #[arg(long, value_name = "VERSION")]
        to: Option<u32>,
        /// List the versions, and change nothing.
        #[arg(long, conflicts_with = "to")]
        list: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProviderSet {
    /// The service; all services without it.
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<String>,
    /// Names of Windows' values with their numbers, such as "Configuration Flags=2"; nothing behind = takes one away.
    #[arg(value_name = "NAME=NUMBER")]
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderFiles {
    /// INI files with names, manifests (.man), or .reg files with registrations.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Code page of files that are neither UTF-16 nor UTF-8, such as 949, 932 or 1251; 1252 without it.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) code_page: Option<u32>,
    /// Program of a manifest that does not name it in full, or its folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderAdd {
    #[command(flatten)]
    pub(crate) files: ProviderFiles,
    /// Shared library of the service.
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<String>,
    /// Name of its function that is called first.
    #[arg(long, value_name = "NAME")]
    pub(crate) open: Option<String>,
    /// Name of its function that gives data.
    #[arg(long, value_name = "NAME")]
    pub(crate) collect: Option<String>,
    /// Name of its function that is called last.
    #[arg(long, value_name = "NAME")]
    pub(crate) close: Option<String>,
    /// Load the library as the user nobody where root reads counters.
    #[arg(long)]
    pub(crate) as_nobody: bool,
    /// Index of an object of others that it changes.
    #[arg(long, value_name = "INDEX")]
    pub(crate) wraps: Vec<u32>,
    /// Trust the library as it is now, and load it into the process of whoever reads counters: nothing protects that
    /// process from it.
    #[arg(long)]
    pub(crate) in_process: bool,
    /// How long a request waits for its data before the last values stand in, in milliseconds; 50 without it.
    #[arg(long, value_name = "MS")]
    pub(crate) deadline: Option<u32>,
    /// Time after which its first function is broken off, in milliseconds; 10,000 without it.
    #[arg(long, value_name = "MS")]
    pub(crate) open_timeout: Option<u32>,
    /// Time after which its data is no longer hoped for and its process is killed, in milliseconds; 10,000 without it.
    #[arg(long, value_name = "MS")]
    pub(crate) collect_timeout: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Compat {
    #[command(subcommand)]
    pub(crate) command: CompatCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CompatCommand {
    /// Make links to this program under the names of Windows' programs.
    Install(CompatFolder),
    /// Remove these links.
    Remove(CompatFolder),
    /// The name of a program of Windows, and its options.
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

#[derive(Debug, Args)]
pub(crate) struct CompatFolder {
    /// Folder of the links; ~/.local/bin without it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WindowsWords {
    /// Options and names as on Windows; options begin with - or /.
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}
