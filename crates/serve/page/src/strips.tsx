// The overview of a report over all of its time: a strip for each part of the machine, whose counter the server has chosen.
import { number } from "./format";
import { report, reportChart } from "./report";
import { t } from "./words";

const POINTS = 400;

export function Strips() {
  const { times, series } = reportChart((report?.strips ?? []).map(([, path]) => path), null, POINTS);
  const [begin, last] = [times[0], times[times.length - 1]];
  return (
    <section class="block"><h2>{t("overview")}</h2><table class="strips"><tbody>{report?.strips.map(([word, path]) => {
      const one = series.find((known) => known.path === path);
      const { avg, max = 0 } = one?.statistics ?? {};
      const most = one?.unit === "%" ? 100 : max || 1;
      const numbers = `${t("avg")} ${number(avg)}, ${t("max")} ${number(max)} ${one?.unit}`;
      return (
        <tr><th scope="row">{t(word)}<div class="soft">{one?.counter} {one?.instance}</div></th>
          <td><svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label={`${t(word)}: ${numbers}`}>{one?.values.map((value, nth) => (
            <rect x={(times[nth] - begin) / (last - begin)} width={((times[nth + 1] ?? last) - times[nth]) / (last - begin)} height="1" class="fill" opacity={(value ?? 0) / most} />))}</svg></td>
          <td class="num">{numbers}</td></tr>);
    })}</tbody></table></section>
  );
}
