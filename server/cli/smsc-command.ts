import { startSmsc } from "#carriers";
import { command, CommandFailure } from "./command.ts";
import { optional, withFallback } from "./input.ts";
import { text, wholeNumber } from "./input-values.ts";

const smsc = command({
  name: "smsc",
  summary:
    "Runs an SMSC to rehearse with, until a stop signal. It answers by the recipient's last four digits, as the simulator does.",
  options: {
    host: withFallback("HOST", text, { meaning: "Address to listen on.", fallback: "127.0.0.1" }),
    port: withFallback("PORT", wholeNumber(0, 65_535), {
      meaning: "Port to listen on; 0 takes a free one.",
      fallback: "2775",
    }),
    systemId: optional("USER", text, "Let only this user bind; anyone unless given."),
    password: optional("PASSWORD", text, "The password of that user, at most 8 characters."),
  },
  prints: '{"host","port"}, once it listens',
  examples: ["smsc --port 2775"],
  isService: true,
  async run({ host, port, systemId, password }, { terminal, signal }) {
    if (systemId === undefined && password !== undefined)
      throw new CommandFailure("--password needs the user it belongs to: add --system-id USER.");
    const credentials =
      systemId === undefined ? {} : { credentials: { systemId, password: password ?? "" } };
    const options = { host, port, remember: 0, ...credentials };
    const running = await startSmsc(options).catch((error: Error) => {
      throw new CommandFailure(
        `Cannot listen on ${host}:${port} (${error.message}). Choose another --host or --port.`,
      );
    });
    const address = { host: running.host, port: running.port };
    terminal.print(
      terminal.isJson
        ? JSON.stringify(address)
        : `SMSC on ${host}:${running.port}. Stop with Ctrl+C.`,
    );
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await running.stop();
    return undefined;
  },
});

export const smscCommands = [smsc];
