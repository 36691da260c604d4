//! Where the server is and who asks it: the variables and files that the tools of AWS read.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// The longest file of credentials or settings.
const MOST_TEXT: u64 = 1 << 20;

/// The region that a server has when nobody says otherwise. Servers other than Amazon's take it.
const USUAL_REGION: &str = "us-east-1";

/// What authorizes requests. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// What the environment says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) credentials: Credentials,
    /// Where the credentials come from, for messages.
    pub(super) source: String,
    pub(super) region: String,
    /// The address of the server.
    pub(super) endpoint: String,
    /// Certificates to trust, instead of those of the system.
    pub(super) certificate: Option<PathBuf>,
}

impl Settings {
    /// Reads variables, and the files that they name.
    ///
    /// # Errors
    ///
    /// There are no credentials, or a file of them cannot be read, in words.
    pub(super) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let file = |name: &str, usual: &str| match variable(name) {
            Some(path) => Some(Named { path: PathBuf::from(path), is_usual: false }),
            None => home.as_ref().map(|home| Named { path: home.join(".aws").join(usual), is_usual: true }),
        };
        let config_file = file("AWS_CONFIG_FILE", "config");
        let section = if profile == "default" { profile.clone() } else { format!("profile {profile}") };
        let config = section_of(config_file.as_ref(), &section)?.unwrap_or_default();
        let setting = |names: &[&str], key: &str| {
            names.iter().find_map(|name| variable(name)).or_else(|| config.get(key).cloned())
        };
        let region = setting(&["AWS_REGION", "AWS_DEFAULT_REGION"], "region");
        let region = region.unwrap_or_else(|| USUAL_REGION.to_owned());
        let is_plain = region.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        if !is_plain {
            return Err(format!("{region:?} is no region: it has letters, digits and -; set AWS_REGION"));
        }
        let endpoint = setting(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"], "endpoint_url");
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let certificate = setting(&["AWS_CA_BUNDLE"], "ca_bundle").map(PathBuf::from);
        let (credentials, source) = match of_variables(variable)? {
            // Also before a profile that is named, as the tools of AWS do.
            Some(found) => (found, "the environment".to_owned()),
            None => of_files(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &profile, &config)?,
        };
        Ok(Settings { credentials, source, region, endpoint, certificate })
    }
}

fn of_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Credentials>, String> {
    // A value that was read from a file often ends with a line.
    let variable = |name: &str| {
        let value = variable(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            Ok(Some(Credentials { id, secret, token: variable("AWS_SESSION_TOKEN") }))
        }
        (None, None) => Ok(None),
        (Some(_), None) => Err("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned()),
        (None, Some(_)) => Err("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not".to_owned()),
    }
}

fn of_files(
    file: Option<Named>,
    profile: &str,
    config: &HashMap<String, String>,
) -> Result<(Credentials, String), String> {
    let found = section_of(file.as_ref(), profile)?;
    let shown =
        file.as_ref().map_or_else(|| "~/.aws/credentials".to_owned(), |file| file.path.display().to_string());
    let keys = found.as_ref().unwrap_or(config);
    match (keys.get("aws_access_key_id"), keys.get("aws_secret_access_key")) {
        (Some(id), Some(secret)) => {
            let token = keys.get("aws_session_token").cloned();
            let credentials = Credentials { id: id.clone(), secret: secret.clone(), token };
            Ok((credentials, format!("the profile {profile:?} of {shown}")))
        }
        _ => {
            let other =
                ["credential_process", "sso_session", "sso_start_url", "role_arn", "web_identity_token_file"];
            let other = other.iter().find(|key| keys.contains_key(**key) || config.contains_key(**key));
            Err(match other {
                Some(key) => format!(
                    "the profile {profile:?} has {key}, and only access keys are read; let \
                     'aws configure export-credentials --format env' set them"
                ),
                None => format!(
                    "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write the profile \
                     {profile:?} into {shown}"
                ),
            })
        }
    }
}

/// A file of credentials or settings.
struct Named {
    path: PathBuf,
    /// It is where the tools of AWS have it; nobody has named it.
    is_usual: bool,
}

/// The settings in a section of a file; `None` if there is no such file or section. A usual file that may not
/// be read, as that of another user's home folder, is none either.
fn section_of(file: Option<&Named>, section: &str) -> Result<Option<HashMap<String, String>>, String> {
    let Some(Named { path: file, is_usual }) = file else { return Ok(None) };
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", file.display());
    let about = match std::fs::metadata(file) {
        Err(error) if is_absent(error.kind(), *is_usual) => return Ok(None),
        about => about.map_err(|error| failed(&error))?,
    };
    if !about.is_file() || about.len() > MOST_TEXT {
        return Err(failed(&"it is not a regular file of at most 1 MiB"));
    }
    let mut text = String::new();
    let opened = match File::open(file) {
        Err(error) if is_absent(error.kind(), *is_usual) => return Ok(None),
        opened => opened.map_err(|error| failed(&error))?,
    };
    opened.take(MOST_TEXT).read_to_string(&mut text).map_err(|error| failed(&error))?;
    Ok(parsed(&text, section))
}

/// Whether a file that cannot be opened counts as one that is not there.
const fn is_absent(kind: io::ErrorKind, is_usual: bool) -> bool {
    match kind {
        io::ErrorKind::NotFound => true,
        io::ErrorKind::PermissionDenied => is_usual,
        _ => false,
    }
}

/// Lines `name = value` below `[section]`. What is indented belongs to the setting above it.
fn parsed(text: &str, section: &str) -> Option<HashMap<String, String>> {
    let mut found: Option<HashMap<String, String>> = None;
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_inside = name.split_whitespace().eq(section.split_whitespace());
            if is_inside {
                found.get_or_insert_default();
            }
        } else if let Some((name, value)) = trimmed.split_once('=')
            && is_inside
            && !line.starts_with([' ', '\t'])
            && let Some(found) = &mut found
        {
            found.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
