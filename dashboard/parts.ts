import { lazyRouteComponent } from "@tanstack/react-router";
import { type FunctionComponent, lazy, type ReactNode } from "react";
import { keep, readKept } from "./storage.ts";
import { words } from "./text/words.ts";

const ASK_EVERY_MS = 1_000;

/**
 * Loads a part of the site. While the service is away this waits for it, because a page that is
 * loaded anew then is lost with all that was typed in it. Fails where the service answers and has no
 * such file: a newer version was put in its place.
 */
export async function loadPart<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    waiting += 1;
    showWaiting();
  }
  try {
    return await loadWhenThere(load);
  } finally {
    waiting -= 1;
    showWaiting();
  }
}

async function loadWhenThere<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    const isThere = await answers();
    try {
      return await load();
    } catch (error) {
      if (isThere) throw error;
    }
  }
}

let waiting = 0;
const note = document.createElement("output");
note.className = "waiting-note";

/** Beside the page, which may not be there yet. */
function showWaiting(): void {
  note.textContent = waiting > 0 ? words.waitingForService : "";
  if (!note.isConnected) document.body.append(note);
}

/** Whatever it says: where it can be asked, a part that is missing is gone. */
async function answers(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}

/** A page, loaded when a link to it is about to be followed; the router loads the site anew where it is gone. */
export function page<Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(() => loadPart(load), name);
}

type PartOf<Component> = Component extends (props: infer Props) => ReactNode
  ? FunctionComponent<Props>
  : never;

/** A part of a page, loaded when it is first shown. */
export function part<Module, Name extends keyof Module>(load: () => Promise<Module>, name: Name) {
  return lazy(async () => {
    const module = await loadPart(load).catch(reload);
    return { default: module[name] as PartOf<Module[Name]> };
  });
}

const RELOADED_AT = "posthorn-reloaded-at";
const RELOAD_PAUSE_MS = 60_000;

/** A newer version has other parts. Not again and again, where it lacks them too. */
function reload(error: unknown): Promise<never> {
  const reloadedAtMs = Number(readKept("sessionStorage", RELOADED_AT) ?? 0);
  if (Date.now() - reloadedAtMs < RELOAD_PAUSE_MS) throw error;
  keep("sessionStorage", RELOADED_AT, String(Date.now()));
  // Where nothing can be kept, it might be loaded anew without end.
  if (readKept("sessionStorage", RELOADED_AT) === undefined) throw error;
  location.reload();
  return new Promise(() => {});
}
