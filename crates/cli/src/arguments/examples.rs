//! Examples at the end of each command's help.

pub(crate) const MON: &str = r"Examples:
  tally mon
  tally mon '\Processor(*)\% Processor Time' --interval 500ms
  tally mon yesterday.blg";

pub(crate) const SERVE: &str = r"Examples:
  tally serve --open
  tally serve monday.blg tuesday.blg
  tally serve --statsd 127.0.0.1:8125 --otlp 127.0.0.1:4318

From another machine: ssh -L 8060:127.0.0.1:8060 web1 tally serve --port 8060";

pub(crate) const REPORT: &str = r"Examples:
  tally report customer.blg -o customer.html
  tally report --last 30m -o now.html
  tally report after.blg --against before.blg -o change.html";

pub(crate) const GET: &str = r"Examples:
  tally get '\Processor(_Total)\% Processor Time'
  tally get '\Memory\*' -H ssh://web1 -H ssh://web2
  tally get '\Memory\*' --log yesterday.blg --at '2026-11-21 09:30'";

pub(crate) const CHECK: &str = r"Examples:
  tally check '\Processor(_Total)\% Processor Time' -w 80 -c 95
  tally check '\LogicalDisk(*)\% Free Space' -w 10: -c 5:
  tally check '\Memory\Pages/sec' -w 1000 --since-last 15m

Output and exit code are those of Monitoring Plugins: 0 ok, 1 warning, 2 critical,
3 unknown, also for wrong arguments.";

pub(crate) const DASHBOARD: &str = r"Examples:
  tally dashboard grafana > overview.json
  tally dashboard grafana Process --title Processes > processes.json
  tally dashboard perses 'My Service' | percli apply -f -";

pub(crate) const PUSH: &str = r"Examples:
  tally push '\Processor(*)\*' '\Memory\*' --otlp http://localhost:4318
  tally push '\PhysicalDisk(*)\*' --remote-write http://prom:9090/api/v1/write
  tally push '\Memory\*' --influx 'http://localhost:8086/write?db=perf'";

pub(crate) const WATCH: &str = r"Examples:
  tally watch '\Processor(*)\% Processor Time'
  tally watch '\PhysicalDisk(*)\Disk Bytes/sec' --interval 5s --csv > disks.csv
  tally watch '\Memory\*' --count 60 --output memory.blg";

pub(crate) const STAT: &str = r"Examples:
  tally stat cpu 1 5
  tally stat disk 10
  tally stat proc --log yesterday.blg --from '2026-11-21 09:30'";

pub(crate) const TOP: &str = r"Examples:
  tally top
  tally top -n 5
  tally top --once --interval 10s > busy.txt";

pub(crate) const LIST: &str = r"Examples:
  tally list
  tally list Processor
  tally list Process --instances";

pub(crate) const FIND: &str = r"Examples:
  tally find cpu
  tally find disk latency
  tally find memory --json";

pub(crate) const BROWSE: &str = r#"Examples:
  tally browse
  tally browse '\PhysicalDisk(*)\Disk Bytes/sec'
  tally get "$(tally browse --one)""#;

pub(crate) const EXPLAIN: &str = r"Examples:
  tally explain '\PhysicalDisk(*)\% Idle Time'
  tally explain '\Memory\Available MBytes' --lang ko
  tally explain '\Processor(_Total)\% User Time' --log yesterday.blg";

pub(crate) const DUMP: &str = r"Examples:
  tally dump
  tally dump '238 230'
  tally dump Global --raw block.bin && tally dump block.bin";

pub(crate) const RELOG: &str = r"Examples:
  tally relog yesterday.blg -o yesterday.csv
  tally relog /var/log/customers -f lake -o counters.lake
  tally relog yesterday.blg -o morning.tally --to '2026-11-21 12:00'";

#[cfg(feature = "parquet")]
pub(crate) const LAKE: &str = r"Examples:
  tally lake compact counters.lake
  tally lake vacuum counters.lake
  tally lake vacuum counters.lake --older-than 24h";

#[cfg(feature = "parquet")]
pub(crate) const LAKE_COMPACT: &str = r"Examples:
  tally lake compact counters.lake";

#[cfg(feature = "parquet")]
pub(crate) const LAKE_VACUUM: &str = r"Examples:
  tally lake vacuum counters.lake
  tally lake vacuum counters.lake --older-than 24h";

pub(crate) const INFO: &str = r"Examples:
  tally info yesterday.blg
  tally info yesterday.blg --columns
  tally info yesterday.csv --code-page shift_jis";

pub(crate) const STATS: &str = r"Examples:
  tally stats yesterday.blg
  tally stats yesterday.blg --sort 95 --top 10
  tally stats *.blg -c '\Processor(*)\% Processor Time' --json";

pub(crate) const COMPARE: &str = r"Examples:
  tally compare before.blg after.blg
  tally compare monday.blg tuesday.blg --top 10
  tally compare web1.blg web2.blg --align clock";

pub(crate) const ANALYZE: &str = r"Examples:
  tally analyze customer.blg
  tally analyze --last 2h
  tally analyze after.blg --against before.blg --fail-on warning";

pub(crate) const WHY: &str = r"Examples:
  tally why 12:10
  tally why '2026-11-21 09:30' customer.blg
  tally why 2026-11-21T08:30:00Z *.tally --json";

pub(crate) const LOG: &str = r"Examples:
  tally log start web -c '\Processor(*)\*' --interval 5s
  tally log list
  tally log stop web";

pub(crate) const PROF: &str = r"Examples:
  tally prof run -- dotnet shop.dll
  tally prof top
  tally prof report shop.prof -o shop.html";

pub(crate) const DOCTOR: &str = r"Examples:
  tally doctor
  tally doctor --verbose
  tally doctor --json";

pub(crate) const EVENTS: &str = r"Examples:
  tally events
  tally events --last 20
  tally events --provider MyService --follow";

pub(crate) const REMOTE: &str = r"Examples:
  tally remote pair
  tally remote pair tls://web1
  tally remote revoke ann@desk";

pub(crate) const PROVIDER: &str = r"Examples:
  tally provider check myservice.ini
  tally provider add myservice.ini
  tally provider list";

pub(crate) const LODCTR: &str = r"Examples:
  tally lodctr myservice.ini
  tally lodctr /Q
  tally lodctr /S:saved.ini";

pub(crate) const UNLODCTR: &str = r"Examples:
  tally unlodctr MyService
  tally unlodctr /M:myservice.man
  tally unlodctr /P:MyProvider";

pub(crate) const COMPAT: &str = r"Examples:
  tally compat typeperf '\Processor(_Total)\% Processor Time' -sc 5
  tally compat logman /?
  tally compat install --dir ~/.local/bin";

pub(crate) const COMPLETIONS: &str = r"Examples:
  tally completions bash > ~/.local/share/bash-completion/completions/tally
  tally completions zsh > ~/.local/share/zsh/site-functions/_tally
  tally completions fish > ~/.config/fish/completions/tally.fish

In zsh, the folder must be in fpath. PowerShell reads the script in its profile:
tally completions powershell >> $PROFILE";

pub(crate) const MAN: &str = r"Examples:
  tally man | man -l -
  tally man watch | man -l -
  tally man --output ~/.local/share/man/man1";

/// Examples of the subcommands of commands.
const NESTED: [(&str, &str, &str); 47] = [
    (
        "log",
        "start",
        r"  tally log start web -c '\Processor(*)\*' -c '\Memory\*' --interval 5s
  tally log start night --all-objects --begin '2026-11-21 22:00' --samples 600
  tally log start farm -c '\Memory\*' -H ssh://web1 -H ssh://web2
  tally log start web",
    ),
    (
        "log",
        "stop",
        "  tally log stop web
  tally log stop web night",
    ),
    ("log", "list", "  tally log list"),
    (
        "log",
        "show",
        "  tally log show web
  tally log show web --json",
    ),
    (
        "log",
        "update",
        r"  tally log update web --interval 1s
  tally log update web -c '\PhysicalDisk(*)\*'",
    ),
    ("log", "delete", "  tally log delete web"),
    (
        "log",
        "import",
        "  tally log import web.json
  tally log import baseline.json --name web
  tally log import ServerManager.xml --name server",
    ),
    (
        "log",
        "export",
        "  tally log export web
  tally log export web web.json",
    ),
    (
        "log",
        "snapshot",
        "  tally log snapshot web --last 10m
  tally log snapshot web -o incident.tally",
    ),
    ("log", "run", "  tally log run web"),
    (
        "log",
        "service",
        "  tally log service install
  tally log service start
  tally log service status",
    ),
    (
        "prof",
        "run",
        "  tally prof run -- dotnet shop.dll
  tally prof run --duration 30s -o shop.prof -- dotnet shop.dll
  tally prof run --include Shop. --publish -- dotnet shop.dll",
    ),
    (
        "prof",
        "sample",
        "  tally prof sample 4711
  tally prof sample shop --duration 30s -o shop.nettrace
  tally prof report shop.nettrace -o shop.html",
    ),
    (
        "prof",
        "gc",
        "  tally prof gc 4711
  tally prof gc shop --duration 1m
  tally prof gc shop.nettrace",
    ),
    (
        "prof",
        "exceptions",
        "  tally prof exceptions 4711
  tally prof exceptions shop --rows 10
  tally prof exceptions shop.nettrace",
    ),
    (
        "prof",
        "contention",
        "  tally prof contention 4711
  tally prof contention shop --duration 30s
  tally prof contention shop.nettrace",
    ),
    (
        "prof",
        "threads",
        "  tally prof threads 4711
  tally prof threads shop --duration 30s
  tally prof threads shop.nettrace",
    ),
    (
        "prof",
        "http",
        "  tally prof http 4711
  tally prof http shop --duration 5m --every 10s
  tally prof http shop --json",
    ),
    (
        "prof",
        "db",
        "  tally prof db 4711
  tally prof db shop --duration 1m --rows 10
  tally prof db shop --json",
    ),
    (
        "prof",
        "tree",
        "  tally prof tree shop.prof
  tally prof tree shop.prof --depth 5 --corrected",
    ),
    ("prof", "report", "  tally prof report shop.prof -o shop.html"),
    (
        "prof",
        "list",
        "  tally prof list
  tally prof list --json",
    ),
    ("prof", "diff", "  tally prof diff before.prof after.prof --rows 10"),
    ("prof", "export", "  tally prof export shop.prof -f speedscope > shop.json"),
    (
        "prof",
        "top",
        "  tally prof top
  tally prof top 4711 --rows 20",
    ),
    (
        "prof",
        "publish",
        "  tally prof publish
  tally prof publish 4711 --include Shop. --methods 50",
    ),
    (
        "prof",
        "status",
        "  tally prof status
  tally prof status shop.prof",
    ),
    ("prof", "on", "  tally prof on 4711 --include Shop."),
    ("prof", "off", "  tally prof off 4711"),
    (
        "provider",
        "add",
        "  tally provider add myservice.ini
  tally provider add myservice.ini --library /usr/lib/libmyservice.so
  tally provider add --metrics http://localhost:9100/metrics --name node",
    ),
    ("provider", "update", "  tally provider update node"),
    ("provider", "remove", "  tally provider remove MyService"),
    (
        "provider",
        "list",
        "  tally provider list
  tally provider list --json",
    ),
    (
        "provider",
        "check",
        "  tally provider check myservice.ini
  tally provider check old.ini --code-page 949",
    ),
    ("provider", "export", "  tally provider export saved.txt && tally lodctr /R:saved.txt"),
    ("provider", "enable", "  tally provider enable MyService"),
    ("provider", "disable", "  tally provider disable MyService"),
    ("provider", "translate", "  tally provider translate myservice.ini"),
    ("provider", "perfmon", "  tally provider perfmon 'C:\\Program Files\\Tallymon' > install.cmd"),
    (
        "provider",
        "set",
        "  tally provider set
  tally provider set --service MyService 'Collect Timeout=500'",
    ),
    (
        "provider",
        "rollback",
        "  tally provider rollback --list
  tally provider rollback",
    ),
    (
        "remote",
        "pair",
        "  tally remote pair
  tally remote pair --name desk
  tally remote pair tls://web1",
    ),
    (
        "remote",
        "install",
        "  tally remote install ssh://web1 --dry-run
  tally remote install ann@web1 --to /home/ann/bin --yes
  tally remote install web --program ./tally-static",
    ),
    ("remote", "list", "  tally remote list"),
    ("remote", "revoke", "  tally remote revoke ann@desk"),
    ("compat", "install", "  tally compat install --dir ~/.local/bin"),
    ("compat", "remove", "  tally compat remove --dir ~/.local/bin"),
];

/// Adds the examples of the subcommands to their help.
pub(crate) fn add(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|outer| {
        let name = outer.get_name().to_owned();
        let examples = NESTED.iter().filter(|(of, ..)| *of == name);
        examples.fold(outer, |outer, (_, inner, examples)| match outer.find_subcommand(inner) {
            Some(_) => {
                outer.mut_subcommand(*inner, |command| command.after_help(format!("Examples:\n{examples}")))
            }
            None => outer,
        })
    })
}
