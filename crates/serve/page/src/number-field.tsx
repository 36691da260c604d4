// A field for a number. The page is drawn anew with each sample; what somebody is typing stays.
import { useState } from "preact/hooks";

type Props = {
  value: number | string; onText: (text: string) => void;
  step?: number | "any"; min?: number; max?: number; class?: string; disabled?: boolean; "aria-invalid"?: boolean;
};

export function NumberField({ value, onText, step = "any", ...more }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <input {...more} type="number" step={step} value={typed ?? value} onChange={() => setTyped(null)}
      onInput={({ currentTarget: { value: text, validity } }) => { setTyped(text); if (!validity.badInput) onText(text); }} />
  );
}
