// The report: what the logs are, what stands out, charts of each object, statistics.
import { batch } from "@preact/signals";
import { Chart, powerOf } from "./chart";
import { duration, moment, number, percent } from "./format";
import { StatisticsTable, Swatch } from "./monitor";
import { report, reportChart, type Finding } from "./report";
import { paths, range, say, show, theme } from "./state";
import { Strips } from "./strips";
import { namedAll, t } from "./words";

const POINTS = 1000;

/** The colours of series of which those of a log from before have the colour of the one they stand behind. */
function inPairs(series: { path: string }[]): number[] {
  let last = -1;
  return series.map((one) => (one.path[0] === "≈" ? ~(last + 32) : ~(last += 1)));
}

export function ReportPage() {
  const about = report;
  if (!about) return null;
  const { before } = about;
  const objects = [...new Set(namedAll(about.series).map((one) => one.object))];
  void theme.value;
  return (
    <main class="paper">
      <h2>{about.logs.join(", ")}</h2>
      <dl>
        <dt>{t("source")}</dt><dd>{about.hosts.join(", ")}{about.machine.length > 0 && <span class="soft"> {about.machine.join(", ")}</span>}</dd>
        <dt>{t("begin")}</dt><dd>{moment(about.first)}</dd>
        <dt>{t("zone")}</dt><dd>{about.clock.zone ?? t("zoneUnknown")}</dd>
        <dt>{t("duration")}</dt><dd>{duration((about.last - about.first) / 1000)}</dd>
        {before && <><dt>≈</dt><dd>{before.logs.join(", ")}: {moment(before.first, before.clock)}, {duration((before.last - before.first) / 1000)}</dd></>}
        <dt>{t("records")}</dt><dd>{number(about.records)}</dd>
        <dt>{t("counters")}</dt><dd>{number(about.columns)} ({t("chart")}: {number(about.series.filter((one) => one.path[0] !== "≈").length)})</dd>
        {about.gapCount > 0 && <><dt>{t("gaps")}</dt><dd>{number(about.gapCount)}: {about.gaps.map((one) => `${moment(one.time)} + ${duration(one.seconds)}`).join("; ")}</dd></>}
        {about.restarts.length > 0 && <><dt>{t("restarts")}</dt><dd>{about.restarts.map((one) => `${one.host} ${moment(one.time)}`).join("; ")}</dd></>}
        {about.damage > 0 && <><dt>{t("damage")}</dt><dd class="bad">{number(about.damage)}</dd></>}
      </dl>
      {before && <section><h2>{t("compare")} ({number(before.changes.length + before.more)} / {number(before.compared)})</h2>
        <div class="scroll"><table><thead><tr><th>{t("counter")}</th><th class="num">≈</th><td /><td /></tr></thead>
          <tbody>{before.changes.map((one) => <tr><th scope="row">{one.path}</th><td class="num">{number(one.before)}</td>
            <td class="num">{number(one.after)} {one.unit}</td><td>{one.effect}</td></tr>)}</tbody></table></div></section>}
      {about.strips.length > 0 && <Strips />}
      <section><h2>{t("findings")}</h2>
        {about.findings.length === 0 && <p>{t("noFindings")}</p>}
        <ol class="findings">{about.findings.map((one) => <FindingItem one={one} />)}</ol>
      </section>
      {about.busiest.map((group) => <section class="block"><h2>{group.title}</h2>
        <table><thead><tr><th>{t("instance")}</th><th class="num">{t("avg")}</th><th class="num">{t("max")}</th></tr></thead>
          <tbody>{group.instances.map((one) => <tr><th scope="row">{one.name}</th><td class="num">{number(one.mean)} {group.unit}</td>
            <td class="num">{number(one.max)}</td></tr>)}</tbody></table></section>)}
      {objects.map((object) => {
        const own = namedAll(about.series).filter((one) => one.object === object);
        const chart = reportChart(own.map((one) => one.path), null, POINTS);
        const shown = { ...chart, series: namedAll(chart.series) };
        return (
          <section class="block"><h2>{object}</h2>
            <Chart data={shown} powers={shown.series.map((one) => powerOf(one.values, one.unit))} view="line" chosen={-1} colours={before && inPairs(own)}
              highlight={false} sweep={null} theme={theme.value} label={`${t("chart")}: ${object}`}
              onCursor={() => {}} onPick={() => {}} onZoom={() => {}} onPan={() => {}} say={say}
              onSelect={(from, to) => { batch(() => { paths.value = own.map((one) => one.path); range.value = [from, to]; show("monitor"); }); }} />
            <ul class="key">{shown.series.map((one, nth) => (
              <li><Swatch nth={before ? inPairs(own)[nth] : ~nth} />
                {one.counter}{one.instance === null ? "" : ` (${one.instance})`} × {10 ** powerOf(one.values, one.unit)}</li>))}</ul>
            <StatisticsTable rows={own.map((one) => ({ ...one, line: one.statistics }))} />
          </section>);
      })}
    </main>
  );
}

export function FindingItem({ one }: { one: Finding }) {
  return (
    <li class="card"><h3><span class={`mark ${one.severity}`}>{one.severity}</span> {one.title} – {percent(one.share * 100)}</h3>
      <ul>{one.instances.map((where) => (
        <li><code>{where.path}</code> {t("max")} {number(where.worst)} {where.unit}{where.usual === null ? "" : ` (${number(where.usual)})`}
          {where.ranges.map((part) => <button class="small" onClick={() => {
            const wide = Math.max(60_000, part.to - part.from);
            batch(() => { range.value = [part.from - wide, part.to + wide]; show("monitor"); });
          }}>{moment(part.from)}</button>)}{where.more > 0 && <span class="soft"> + {number(where.more)}</span>}</li>))}</ul>
      {one.causes.length > 0 && <p>{t("causes")}: {one.causes.map((cause) => `${cause.name} ${number(cause.during)} ${cause.unit}`).join(", ")}</p>}
      <p class="soft">{one.means} {one.next}</p>
    </li>
  );
}
