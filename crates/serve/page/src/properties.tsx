// The properties of the chart: its vertical axis, and how the chosen line looks.
import { useState } from "preact/hooks";
import { lookOf } from "./chart";
import { Dialog } from "./dialog";
import { Swatch } from "./monitor";
import { power } from "./format";
import type { Data } from "./live";
import { NumberField } from "./number-field";
import { axis, chosen, LOOKS, styleOf, styles, styling, type Style } from "./state";
import { t } from "./words";

const POWERS = Array.from({ length: 19 }, (_, nth) => nth - 9);
const WIDTHS = [1, 2, 3, 4, 5];

/** The axis between two ends as they are typed, if they are one. */
function axisOf(texts: string[]): [number, number] | null {
  const [least, most] = texts.map((text) => (text.trim() === "" ? NaN : Number(text)));
  return Number.isFinite(least) && Number.isFinite(most) && least < most ? [least, most] : null;
}

export function Properties({ shown, powers, nth, colours }: { shown: Data; powers: number[]; nth: number; colours: number[] }) {
  const one = shown.series[nth];
  const own = (one && styleOf(one)) ?? {};
  // Two changes may come before the dialog is drawn again.
  const set = (more: Style) => { if (one) styles.value = { ...styles.value, [one.path]: { ...styleOf(one), ...more } }; };
  const reset = () => {
    styles.value = Object.fromEntries(Object.entries(styles.value).filter(([path]) => path !== one?.path && path !== one?.asked));
  };
  const [low, high] = axis.value ?? [0, 100];
  // What was typed, until both ends together are an axis: the first one alone may be beyond the other.
  const [typed, setTyped] = useState<[string, string]>([String(low), String(high)]);
  const wrong = axis.value !== null && !axisOf(typed);
  const limit = (texts: [string, string]) => {
    setTyped(texts);
    axis.value = axisOf(texts) ?? axis.value;
  };
  const fit = (isAuto: boolean) => {
    axis.value = isAuto ? null : [low, high];
    setTyped([String(low), String(high)]);
  };
  return (
    <Dialog open={styling} title={t("properties")} class="properties">
      <fieldset><legend>{t("axis")}</legend>
        <label class="check"><input type="checkbox" checked={axis.value === null} onChange={(event) => fit(event.currentTarget.checked)} /> {t("auto")}</label>
        <label>{t("min")} <NumberField value={typed[0]} disabled={axis.value === null} aria-invalid={wrong} onText={(text) => limit([text, typed[1]])} /></label>
        <label>{t("max")} <NumberField value={typed[1]} disabled={axis.value === null} aria-invalid={wrong} onText={(text) => limit([typed[0], text])} /></label>
      </fieldset>
      {one && <fieldset><legend>{t("color")}</legend>
        <label>{t("counter")} <select value={one.path} onChange={(event) => { chosen.value = event.currentTarget.value; }}>
          {shown.series.slice(0, 200).map((known) => <option value={known.path}>{known.counter} {known.instance ?? ""}</option>)}</select></label>
        <label>{t("scale")} <select value={own.power === undefined ? "auto" : String(own.power)}
          onChange={({ currentTarget: { value } }) => set({ power: value === "auto" ? undefined : Number(value) })}>
          <option value="auto">{t("auto")} ({power(powers[nth] ?? 0)})</option>
          {POWERS.map((each) => <option value={String(each)}>{power(each)}</option>)}</select></label>
        <label>{t("colour")} <Swatch nth={colours[nth]} /> <input type="range" min={0} max={LOOKS - 1} value={lookOf(colours[nth])} aria-label={t("colour")}
          onInput={(event) => set({ colour: Number(event.currentTarget.value) })} /></label>
        <label>{t("width")} <select value={String(own.width ?? 1)} onChange={(event) => set({ width: Number(event.currentTarget.value) })}>
          {WIDTHS.map((each) => <option>{each}</option>)}</select></label>
        <label>{t("threshold")} <NumberField value={own.threshold ?? ""} onText={(text) => set({ threshold: text === "" ? undefined : Number(text) })} /></label>
        <label class="check"><input type="checkbox" checked={!own.hidden} onChange={(event) => set({ hidden: !event.currentTarget.checked })} /> {t("visible")}</label>
        <button onClick={reset}>{t("reset")}</button>
      </fieldset>}
    </Dialog>
  );
}
