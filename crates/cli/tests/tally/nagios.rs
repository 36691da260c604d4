//! `tally check` and Debian's `check_nt` as Nagios runs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tallymon_testkit::skip;

use crate::nsclient::{PASSWORD, Server, check_nt};
use crate::record::until;
use crate::support::{Folder, TALLY, clean, has};

/// Settings of one host whose services are checked each second.
const SETTINGS: &str = "log_file=W/nagios.log
cfg_file=W/objects.cfg
object_cache_file=W/objects.cache
status_file=W/status.dat
command_file=W/command
check_external_commands=0
query_socket=W/query
lock_file=W/pid
temp_file=W/temp
temp_path=W
check_result_path=W
retain_state_information=0
log_rotation_method=n
use_syslog=0
interval_length=1
service_check_timeout=120
enable_notifications=0
execute_host_checks=0
check_for_updates=0
process_performance_data=1
service_perfdata_file=W/seen
service_perfdata_file_mode=a
nagios_user=USER
nagios_group=GROUP
service_perfdata_file_template=$SERVICEDESC$\\t$SERVICESTATE$\\t$SERVICEOUTPUT$\\t$SERVICEPERFDATA$
";

const OBJECTS: &str = "define timeperiod {
  timeperiod_name always
  alias always
  sunday 00:00-24:00
  monday 00:00-24:00
  tuesday 00:00-24:00
  wednesday 00:00-24:00
  thursday 00:00-24:00
  friday 00:00-24:00
  saturday 00:00-24:00
}
define command {
  command_name nothing
  command_line /bin/true
}
define contact {
  contact_name nobody
  host_notification_period always
  service_notification_period always
  host_notification_commands nothing
  service_notification_commands nothing
}
define host {
  host_name here
  address 127.0.0.1
  check_command nothing
  check_period always
  max_check_attempts 1
  contacts nobody
}
";

/// A daemon that ends with its test.
struct Nagios(Child);

impl Drop for Nagios {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `id` says, such as the name of the user.
fn id(option: &str) -> String {
    let out = Command::new("id").arg(option).output().unwrap().stdout;
    String::from_utf8(out).unwrap().trim().to_owned()
}

/// What Nagios has of each service: its state, its text and its performance data.
fn seen(folder: &Path) -> BTreeMap<String, [String; 3]> {
    let text = fs::read_to_string(folder.join("seen")).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split('\t').map(str::to_owned);
        let name = words.next()?;
        Some((name, [words.next()?, words.next()?, words.next()?]))
    };
    text.split_inclusive('\n')
        .filter(|found| found.ends_with('\n'))
        .filter_map(|found| line(found.trim_end_matches('\n')))
        .collect()
}

#[test]
fn nagios_reads_states_and_performance_data() {
    let Some(engines) = std::env::var_os("TALLYMON_ENGINES") else {
        skip("Nagios is not here: 'cargo xtask engines' fetches it");
        return;
    };
    let Some(check_nt) = check_nt() else { return };
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let here = folder.file("nagios");
    fs::create_dir_all(&here).unwrap();
    let nt = format!("{} -H 127.0.0.1 -p {} -t 60 -s '{PASSWORD}'", check_nt.display(), server.port);
    let services = [
        ("quiet", format!(r"{TALLY} check '\Processor(_Total)\% Processor Time' -w 101 -c 102")),
        ("loud", format!(r"{TALLY} check '\System\Processes' -w 0 -c 1000000")),
        ("worst", format!(r"{TALLY} check '\System\Processes' '\Memory\Commit Limit' -c 0")),
        ("unknown", format!(r"{TALLY} check '\Nothing\x' -c 0")),
        ("nt", format!(r"{nt} -v COUNTER -l '\System\Processes,%.0f run' -w 1000000 -c 1000001")),
        ("nt loud", format!(r"{nt} -v COUNTER -l '\System\Processes,%.0f run' -w 0 -c 1000000")),
    ];
    let mut objects = OBJECTS.to_owned();
    for (name, line) in &services {
        objects.push_str(&format!(
            "define command {{\n  command_name run {name}\n  command_line {line}\n}}\ndefine service {{\n  \
             host_name here\n  service_description {name}\n  check_command run {name}\n  check_interval 1\n  \
             retry_interval 1\n  max_check_attempts 1\n  check_period always\n  notification_period always\n  \
             contacts nobody\n}}\n"
        ));
    }
    let folder = Path::new(&here);
    fs::write(folder.join("objects.cfg"), objects).unwrap();
    let settings = SETTINGS.replace("W/", &format!("{here}/")).replace("=W\n", &format!("={here}\n"));
    let settings = settings.replace("=USER\n", &format!("={}\n", id("-un")));
    let settings = settings.replace("=GROUP\n", &format!("={}\n", id("-gn")));
    fs::write(folder.join("nagios.cfg"), settings).unwrap();
    let mut nagios = clean(Path::new(&engines).join("usr/sbin/nagios4").to_str().unwrap());
    nagios.arg(folder.join("nagios.cfg")).env("TALLY_ROOT", folder.join("root"));
    let out = fs::File::create(folder.join("out")).unwrap();
    let _nagios = Nagios(nagios.stdout(out).stderr(Stdio::null()).spawn().unwrap());
    until("a check of each service", || seen(folder).len() == services.len());
    let found = seen(folder);
    let of = |name: &str| found[name].each_ref().map(String::as_str);
    for (name, state) in [
        ("quiet", "OK"),
        ("loud", "WARNING"),
        ("worst", "CRITICAL"),
        ("unknown", "UNKNOWN"),
        ("nt", "OK"),
        ("nt loud", "WARNING"),
    ] {
        assert_eq!(of(name)[0], state, "{found:?}");
    }
    // The label of the performance data is the path, unchanged.
    let [_, text, data] = of("quiet");
    has(text, &["OK"]);
    assert!(data.starts_with(r"'\Processor(_Total)\% Processor Time'="), "{data}");
    has(data, &["101", "102"]);
    has(of("worst")[2], &[r"'\System\Processes'=", r"'\Memory\Commit Limit'="]);
    has(of("unknown")[1], &["Nothing"]);
    has(of("nt")[1], &[" run"]);
    assert!(!of("nt")[2].is_empty(), "{found:?}");
}
