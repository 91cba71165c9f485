import { lazyRouteComponent } from "@tanstack/react-router";
import { type FunctionComponent, lazy, type ReactNode } from "react";
import { DEADLINE_MS } from "./api.ts";
import { nowMs } from "./clock.ts";
import { keep, readKept } from "./storage.ts";
import { words } from "./text/words.ts";

const ASK_EVERY_MS = 1_000;

/**
 * Loads a part of the site. If it is missing, waits until the service answers and then fails, and
 * the caller reloads the page. Not sooner: with the service away, a reload would lose the page and
 * all that was typed. A retry is no use: a browser remembers a failed import as long as the page
 * lives.
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

/** Whether the error says that a part is missing, so that only a reload helps. */
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

/** Shown outside the page, which may not exist yet. */
function showWaiting(): void {
  note.textContent = waiting > 0 ? words.waitingForService : "";
  if (!note.isConnected) document.body.append(note);
}

/** Any answer below 500 counts: the service is there, so a part that does not load is gone. */
async function answers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    return (await fetch("/healthz", { cache: "no-store", signal })).status < 500;
  } catch {
    return false;
  }
}

/** A page, loaded when its link is about to be followed; on failure the router reloads the site. */
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

/** Reloads, as a newer version has other parts. Not repeatedly, in case that lacks them too. */
function reload(error: unknown): Promise<never> {
  const reloadedAtMs = Number(readKept("sessionStorage", RELOADED_AT) ?? 0);
  if (Math.abs(nowMs() - reloadedAtMs) < RELOAD_PAUSE_MS) throw error;
  keep("sessionStorage", RELOADED_AT, String(nowMs()));
  // If storage is off, reloading might never end.
  if (readKept("sessionStorage", RELOADED_AT) === undefined) throw error;
  location.reload();
  return new Promise(() => {});
}
