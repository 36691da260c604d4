# Tries tally on a real Windows, and packs what it found into tally-check.zip. It changes nothing on the machine.
#
#   powershell -ExecutionPolicy Bypass -File windows-check.ps1 -Tally C:\path\tally.exe
param([string]$Tally = "tally.exe", [string]$Result = "tally-check.zip")

$ErrorActionPreference = "Continue"
[Console]::OutputEncoding = [Text.Encoding]::UTF8
$folder = Join-Path ([IO.Path]::GetTempPath()) ("tally-check-" + [Guid]::NewGuid().ToString("N"))
New-Item -ItemType Directory -Path $folder | Out-Null

# Runs a command, and keeps what it prints, its exit code and its time.
function Try-Command([string]$Name, [string]$Program, [string[]]$Words) {
    $file = Join-Path $folder "$Name.txt"
    $watch = [Diagnostics.Stopwatch]::StartNew()
    try { & $Program @Words *> $file; $code = $LASTEXITCODE } catch { $_ | Out-File $file; $code = "not started" }
    "{0,-28} exit {1}, {2} ms" -f $Name, $code, $watch.ElapsedMilliseconds | Tee-Object -Append (Join-Path $folder "summary.txt")
}

Get-CimInstance Win32_OperatingSystem | Select-Object Caption, Version, OSLanguage, OSArchitecture |
    Format-List | Out-File (Join-Path $folder "system.txt")
Get-ChildItem "HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib" | Select-Object -ExpandProperty PSChildName |
    Out-File (Join-Path $folder "perflib.txt")

$paths = @('\Processor(_Total)\% Processor Time', '\Memory\Available MBytes', '\System\Context Switches/sec',
    '\PhysicalDisk(_Total)\Disk Bytes/sec', '\Process(_Total)\Handle Count')
Try-Command "version" $Tally @("--version")
Try-Command "doctor" $Tally @("doctor", "--verbose")
Try-Command "list" $Tally @("list")
Try-Command "list-processor" $Tally @("list", "Processor")
Try-Command "list-japanese" $Tally @("--lang", "ja", "list")
Try-Command "get" $Tally (@("get") + $paths)
Try-Command "get-json" $Tally (@("get", "--json") + $paths)
Try-Command "get-missing" $Tally @("get", "\No Such Object\Counter")
Try-Command "get-costly" $Tally @("get", "\Thread Details(*)\User PC")
Try-Command "dump-global" $Tally @("dump", "Global", "--raw", (Join-Path $folder "global.bin"))
Try-Command "dump-costly" $Tally @("dump", "Costly", "--raw", (Join-Path $folder "costly.bin"))
Try-Command "dump-names" $Tally @("dump", "Counter 009")
# A program that publishes: `cargo build --target x86_64-pc-windows-gnu -p tallymon-provider --example publish` beside tally.
$publisher = Join-Path (Split-Path (Get-Command $Tally).Source) "publish.exe"
if (Test-Path $publisher) {
    $where = Join-Path $folder "published-where.txt"
    $process = Start-Process $publisher -PassThru -WindowStyle Hidden -RedirectStandardOutput $where
    for ($i = 0; $i -lt 50 -and -not ((Test-Path $where) -and (Get-Item $where).Length); $i++) { Start-Sleep -Milliseconds 100 }
    Try-Command "published" $Tally @("get", "\Behemoth(*)\*", "\System\Threads")
    Try-Command "published-list" $Tally @("list", "Behemoth")
    Try-Command "published-doctor" $Tally @("doctor", "--verbose")
    # What would register it for perfmon; nothing is registered.
    $perfmon = Join-Path $folder "perfmon"
    Try-Command "published-perfmon" $Tally @("provider", "perfmon", $perfmon)
    # Shown in perfmon too, if somebody registered it before.
    Try-Command "published-typeperf" "typeperf.exe" @("\Behemoth(*)\*", "-sc", "2")
    Get-Content $where | ForEach-Object { icacls $_; icacls (Split-Path $_) } | Out-File (Join-Path $folder "published-access.txt")
    Stop-Process -Id $process.Id
    Try-Command "published-gone" $Tally @("list", "Behemoth")
}
foreach ($kind in "csv", "blg", "tally") {
    $log = Join-Path $folder "watch.$kind"
    Try-Command "watch-$kind" $Tally (@("watch", "--interval", "1s", "--count", "4", "-o", $log) + $paths)
    Try-Command "info-$kind" $Tally @("info", $log)
}
# What Windows itself says, of the same seconds and of the log that was written.
Try-Command "typeperf" "typeperf.exe" ($paths + @("-si", "1", "-sc", "4"))
Try-Command "relog-of-ours" "relog.exe" @((Join-Path $folder "watch.blg"), "-f", "csv", "-o", (Join-Path $folder "relog.csv"), "-y")
Try-Command "lodctr" "lodctr.exe" @("/Q")

Compress-Archive -Path (Join-Path $folder "*") -DestinationPath $Result -Force
Remove-Item -Recurse -Force $folder
"Look into $Result, then send it with an issue. Its block has names of processes and disks."
