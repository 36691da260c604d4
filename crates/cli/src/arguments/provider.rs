//! Arguments of `tally provider`, `lodctr`, `unlodctr` and `compat`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tallymon_bridge::Kind;

use super::writing::Replacing;

#[derive(Debug, Args)]
pub(crate) struct Provider {
    #[command(flatten)]
    pub(crate) scope: ScopeOptions,
    #[command(subcommand)]
    pub(crate) action: ProviderAction,
}

/// Which registry to change. Default: the system's if the user may write it, else the user's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct ScopeOptions {
    /// Use the system registry, which all users read.
    #[arg(long, global = true, conflicts_with = "user")]
    pub(crate) system: bool,
    /// Use this user's registry. Its entries override the system's.
    #[arg(long, global = true)]
    pub(crate) user: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderAction {
    /// Install counter names and register providers.
    Add(ProviderAdd),
    /// Remove services and their counter names.
    Remove {
        /// Services by name, manifest providers by GUID or name, or manifest files.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// Take in metrics that endpoints of bridges have now and did not have when they were added. All others
    /// keep their indexes.
    Update {
        /// Names of bridges.
        #[arg(required = true, value_name = "BRIDGE")]
        bridges: Vec<String>,
    },
    /// List the services of both registries.
    List {
        /// Print JSON.
        #[arg(long, help_heading = "Output")]
        json: bool,
    },
    /// Check files without installing them, or load and check a service's library.
    Check(ProviderFiles),
    /// Export all names and settings; 'tally lodctr /R:FILE' restores them.
    Export {
        /// File to write. Default: standard output.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        replacing: Replacing,
    },
    /// Read the counters of services again.
    Enable {
        /// Names of services.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// Stop reading the counters of services.
    Disable {
        /// Names of services.
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
    },
    /// Add the languages of INI files to services that are already installed.
    Translate {
        /// INI files. Their symbol files must be in the same folder.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Code page of files that are neither UTF-16 nor UTF-8.
        #[arg(long, value_name = "NUMBER")]
        code_page: Option<u32>,
    },
    /// Write what registers tallymon_perf.dll on Windows, which shows published counters in perfmon.
    ///
    /// Every set that programs publish now gets numbers in an INI file of FOLDER, which only administrators
    /// should be able to change. A set keeps its numbers when the command runs again. The commands to run as
    /// administrator are printed.
    Perfmon {
        /// Folder of the files: tallymon_perf.ini, .h and .reg.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// The library. Default: tallymon_perf.dll in the folder of tally.
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },
    /// Set registry values of one service or of all; without values, show them.
    Set(ProviderSet),
    /// Undo the last change, or restore an older version.
    Rollback {
        /// Version to restore. Default: the one before the current.
        #[arg(long, value_name = "VERSION")]
        to: Option<u32>,
        /// List the stored versions and change nothing.
        #[arg(long, conflicts_with = "to")]
        list: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProviderSet {
    /// Service to configure. Default: all services.
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<String>,
    /// Values to set, by their names on Windows, such as "Configuration Flags=2". NAME= removes a value.
    #[arg(value_name = "NAME=NUMBER")]
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderFiles {
    /// INI files with names, manifests (.man), .reg files with registrations, or files that declare bridges
    /// (.toml).
    #[arg(required_unless_present = "metrics", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) bridge: BridgeOptions,
    /// Code page of files that are neither UTF-16 nor UTF-8, such as 949, 932 or 1251. Default: 1252.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) code_page: Option<u32>,
    /// Program of a manifest, or its folder, when the manifest does not give the full path.
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
}

/// Metrics of another program, as objects and counters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bridge")]
pub(crate) struct BridgeOptions {
    /// Address of an endpoint with Prometheus' text format or OpenMetrics, such as
    /// http://localhost:9100/metrics, or of a server, such as redis://localhost or
    /// postgresql://USER@localhost/DATABASE.
    #[arg(long, value_name = "URL")]
    pub(crate) metrics: Option<String>,
    /// What the endpoint speaks. Default: redis or postgresql if the address begins so, else metrics.
    #[arg(long, value_name = "KIND", requires = "metrics", value_parser = Kind::ALL.map(Kind::word))]
    pub(crate) kind: Option<String>,
    /// Unix socket to connect to, instead of the host of the address.
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) socket: Option<PathBuf>,
    /// File with the password of Redis or PostgreSQL, that only its user can read.
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) password: Option<PathBuf>,
    /// Name of the bridge, which its objects begin with. Default: host and port of the address.
    #[arg(long, value_name = "NAME", requires = "metrics")]
    pub(crate) name: Option<String>,
    /// Labels whose values make an instance. Series that then have the same instance are summed. Default:
    /// all labels.
    #[arg(long, value_name = "LABEL", value_delimiter = ',', requires = "metrics")]
    pub(crate) labels: Option<Vec<String>>,
    /// File with headers to send, one on each line, that only its user can read.
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) headers: Option<PathBuf>,
    /// File with certificates to trust (PEM). Default: those that the system trusts.
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) certificate: Option<PathBuf>,
    /// Milliseconds that reading the endpoint may take; 10,000 by default.
    #[arg(long, value_name = "MS", requires = "metrics")]
    pub(crate) scrape_timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderAdd {
    #[command(flatten)]
    pub(crate) files: ProviderFiles,
    /// Shared library of the service.
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<String>,
    /// Name of the library's Open function.
    #[arg(long, value_name = "NAME")]
    pub(crate) open: Option<String>,
    /// Name of the library's Collect function.
    #[arg(long, value_name = "NAME")]
    pub(crate) collect: Option<String>,
    /// Name of the library's Close function.
    #[arg(long, value_name = "NAME")]
    pub(crate) close: Option<String>,
    /// Run the library as user nobody when root reads counters, instead of as a user of its own.
    #[arg(long)]
    pub(crate) as_nobody: bool,
    /// Run the library as root when root reads counters, instead of as a user of its own.
    #[arg(long, conflicts_with = "as_nobody")]
    pub(crate) as_caller: bool,
    /// Run the library without own user, namespaces, Landlock and seccomp.
    #[arg(long)]
    pub(crate) unprotected: bool,
    /// Index of another provider's object that the library wraps. Repeat for several objects.
    #[arg(long, value_name = "INDEX")]
    pub(crate) wraps: Vec<u32>,
    /// Trust the library as it is now, and load it into the process that reads counters.
    ///
    /// A fault of the library then ends that process. Without this option the library runs in its own
    /// process.
    #[arg(long)]
    pub(crate) in_process: bool,
    /// Milliseconds that a request waits for data before it returns the last values; 50 by default. For a
    /// bridge 1,000, and without data its objects are missing.
    #[arg(long, value_name = "MS")]
    pub(crate) deadline: Option<u32>,
    /// Milliseconds that Open may take; 10,000 by default.
    #[arg(long, value_name = "MS")]
    pub(crate) open_timeout: Option<u32>,
    /// Milliseconds that Collect may take before its process is killed; 10,000 by default.
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
    /// Install links to tally under the names of Windows' programs.
    Install(CompatFolder),
    /// Remove the links.
    Remove(CompatFolder),
    /// A program of Windows and its options.
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

#[derive(Debug, Args)]
pub(crate) struct CompatFolder {
    /// Folder of the links. Default: ~/.local/bin.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WindowsWords {
    /// Options and names as on Windows; /? lists them.
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}
