// A dialog over the page: it keeps the focus while it is open, and gives it back.
import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "./words";

type Props = { open: Signal<boolean>; title: string; class?: string; head?: preact.ComponentChildren; children: preact.ComponentChildren };

export function Dialog({ open, title, head, children, ...more }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={box} {...more} aria-label={title} onClose={() => { open.value = false; }}>
      <header><h2>{title}</h2>{head}<button onClick={() => box.current?.close()}>{t("close")}</button></header>
      {children}
    </dialog>
  );
}
