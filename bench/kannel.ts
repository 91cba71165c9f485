/**
 * Kannel for comparison, if installed: bearerbox and smsbox on loopback ports, configured in the
 * benchmark's folder, tuned as far as its guide goes: a window as wide as ours, no access log, only
 * panics logged. It matches delivery reports in memory, which is its fastest way. Neither those nor
 * its store are flushed to disk, so it loses in a power cut what we would keep.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { systemClock as clock } from "#platform";
import { freePort } from "../test/support/process.ts";
import { stopChild, type World } from "./world.ts";

export type Kannel = {
  port: number;
  pids: number[];
  /** The path of a request that sends one message, and asks for reports if given a URL. */
  sendPath(message: { recipient: string; text: string; reportUrl?: string }): string;
  stop(): Promise<void>;
};

type KannelOptions = {
  /** `spool` keeps a file per message until it is sent; `none` keeps it only in memory. */
  store: "spool" | "none";
  smscPort: number;
};

const PANICS_ONLY = "4";
/** Accepted by the SMSC and delivered, which we report too, and all kinds of failure. */
const REPORTS = 1 | 2 | 8 | 16;

export function isKannelInstalled(): boolean {
  return ["bearerbox", "smsbox"].every((name) => binaryOf(name) !== undefined);
}

function binaryOf(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

export async function startKannel(world: World, options: KannelOptions): Promise<Kannel> {
  const [adminPort, boxPort, port] = [await freePort(), await freePort(), await freePort()];
  const folder = join(world.folder, `kannel-${port}`);
  await mkdir(join(folder, "spool"), { recursive: true });
  const file = join(folder, "kannel.conf");
  await writeFile(file, configuration({ ...options, folder, adminPort, boxPort, port }));
  const start = (name: string) => world.spawn(binaryOf(name) ?? name, ["-v", PANICS_ONLY, file]);
  const bearerbox = start("bearerbox");
  await untilAnswers(`http://127.0.0.1:${adminPort}/status.txt?password=bench`, bearerbox);
  const smsbox = start("smsbox");
  await untilAnswers(`http://127.0.0.1:${port}/cgi-bin/sendsms`, smsbox);
  return {
    port,
    pids: [bearerbox.pid ?? 0, smsbox.pid ?? 0],
    sendPath,
    // Killed at once: on a normal stop it would first send everything that waits.
    async stop() {
      await stopChild(smsbox, "SIGKILL");
      await stopChild(bearerbox, "SIGKILL");
    },
  };
}

function sendPath(message: { recipient: string; text: string; reportUrl?: string }): string {
  const { recipient: to, text, reportUrl } = message;
  const reports =
    reportUrl === undefined ? {} : { "dlr-mask": String(REPORTS), "dlr-url": reportUrl };
  const query = { username: "bench", password: "bench", to, text, ...reports };
  return `/cgi-bin/sendsms?${new URLSearchParams(query).toString()}`;
}

type Ports = { folder: string; adminPort: number; boxPort: number; port: number };

function configuration(given: KannelOptions & Ports): string {
  const { store, smscPort, folder, adminPort, boxPort, port } = given;
  return groups(
    {
      group: "core",
      "admin-port": adminPort,
      "admin-interface": "127.0.0.1",
      "admin-password": "bench",
      "smsbox-port": boxPort,
      "smsbox-interface": "127.0.0.1",
      "smsbox-max-pending": 500,
      "box-allow-ip": "127.0.0.1",
      "dlr-storage": "internal",
      ...(store === "none" ? {} : { "store-type": store, "store-location": join(folder, "spool") }),
    },
    {
      group: "smsc",
      smsc: "smpp",
      "smsc-id": "bench",
      host: "127.0.0.1",
      port: smscPort,
      "transceiver-mode": "true",
      "smsc-username": "bench",
      "smsc-password": "bench",
      "system-type": "bench",
      "max-pending-submits": 500,
    },
    {
      group: "smsbox",
      "bearerbox-host": "127.0.0.1",
      "sendsms-port": port,
      "sendsms-interface": "127.0.0.1",
      "global-sender": "Posthorn",
    },
    { group: "sendsms-user", username: "bench", password: "bench" },
  );
}

function groups(...all: Record<string, string | number>[]): string {
  return all
    .map((group) =>
      Object.entries(group)
        .map(([name, value]) => `${name} = "${value}"\n`)
        .join(""),
    )
    .join("\n");
}

/** Any answer shows that it is up. */
async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    if (child.exitCode !== null) throw new Error("Kannel does not start.");
    await clock.sleep(50);
  }
}
