import { lazyRouteComponent } from "@tanstack/react-router";
import { type FunctionComponent, lazy, type ReactNode } from "react";
import { DEADLINE_MS } from "./api.ts";
import { nowMs } from "./clock.ts";
import { keep, readKept } from "./storage.ts";
import { words } from "./text/words.ts";

const ASK_EVERY_MS = 1_000;

/**
 * Loads a part of the site, and fails where it is not there once the service answers: who shows it
 * loads the site anew. Not sooner, because while the service is away that would cost the page and all
 * that was typed in it; and not by asking once more, because a browser keeps a failed import in mind
 * for as long as the page lives.
 */
export async function loadPart<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    await serviceAnswers();
    missing.add(error);
    throw error;
  }
}

const missing = new Set<unknown>();

/** Whether it says that a part is not there, which only loading the site anew can mend. */
export function isMissingPart(error: unknown): boolean {
  return missing.has(error);
}

async function serviceAnswers(): Promise<void> {
  waiting += 1;
  showWaiting();
  do {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  } while (!(await answers()));
  waiting -= 1;
  showWaiting();
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
    const signal = AbortSignal.timeout(DEADLINE_MS);
    return (await fetch("/healthz", { cache: "no-store", signal })).status < 500;
  } catch {
    return false;
  }
}

/** A page, loaded when a link to it is about to be followed; the router loads the site anew where it failed. */
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
  if (nowMs() - reloadedAtMs < RELOAD_PAUSE_MS) throw error;
  keep("sessionStorage", RELOADED_AT, String(nowMs()));
  // Where nothing can be kept, it might be loaded anew without end.
  if (readKept("sessionStorage", RELOADED_AT) === undefined) throw error;
  location.reload();
  return new Promise(() => {});
}
