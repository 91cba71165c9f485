import { once } from "node:events";
import {
  receiptForms,
  type ReceiptScript,
  receiptTimes,
  replies,
  type Reply,
  type SmscOptions,
  startSmsc,
} from "#carriers";
import type { Clock } from "#platform";
import { command, CommandFailure, WrongCall } from "./command.ts";
import { flag, optional, withFallback } from "./input.ts";
import { oneOf, text, wholeNumber } from "./input-values.ts";

const answers = [...replies, "nack"] as const;

const smsc = command({
  name: "smsc",
  summary:
    "Runs a test SMSC until it is stopped. It answers by the recipient's last four digits, like the simulator, or misbehaves as real ones do.",
  options: {
    host: withFallback("HOST", text, { meaning: "Address to listen on.", fallback: "127.0.0.1" }),
    port: withFallback("PORT", wholeNumber(0, 65_535), {
      meaning: "Port to listen on; 0 takes a free one.",
      fallback: "2775",
    }),
    systemId: optional("USER", text, "Let only this user bind. Default: anyone."),
    password: optional("PASSWORD", text, "That user's password."),
    answer: withFallback("HOW", oneOf(answers), {
      meaning: `How it answers every submission: ${answers.join(", ")}.`,
      fallback: "by_recipient",
    }),
    receipts: withFallback("WHEN", oneOf(receiptTimes), {
      meaning: `When a receipt comes, relative to the answer: ${receiptTimes.join(", ")}.`,
      fallback: "after",
    }),
    receiptForm: withFallback("FORM", oneOf(receiptForms), {
      meaning: `Where a receipt has its content: ${receiptForms.join(", ")}.`,
      fallback: "text",
    }),
    receiptStates: withFallback("STATES", words, {
      meaning:
        "One receipt for each state, in this order, such as ENROUTE,DELIVRD,DELIVRD,UNDELIV.",
      fallback: "DELIVRD",
    }),
    hexIds: flag("Answer with hexadecimal ids; receipts have them in decimal, zero-padded."),
  },
  prints: '{"host","port"}, once it listens',
  examples: ["smsc --port 2775", "smsc --answer drop", "smsc --receipts before --hex-ids"],
  isService: true,
  async run({ host, port, systemId, password, ...script }, { terminal, signal, clock }) {
    if (systemId === undefined && password !== undefined)
      throw new WrongCall("--password needs the user it belongs to: add --system-id USER.");
    const credentials =
      systemId === undefined ? {} : { credentials: { systemId, password: password ?? "" } };
    const options = { host, port, remember: 0, ...credentials, ...asScripted(script, clock) };
    const running = await startSmsc(options).catch(({ code, message }: NodeJS.ErrnoException) => {
      throw new CommandFailure(
        code === "EADDRINUSE"
          ? `Port ${port} on ${host} is taken. Stop what uses it, or choose another with --port.`
          : `Cannot listen on ${host}:${port} (${code ?? message}). Choose another --host or --port.`,
      );
    });
    const address = { host: running.host, port: running.port };
    if (terminal.isJson) terminal.printJson(address);
    else terminal.print(`SMSC on ${host}:${running.port}. Stop with Ctrl+C.`);
    if (!signal.aborted) await once(signal, "abort");
    await running.stop();
    return undefined;
  },
});

type Script = {
  answer: (typeof answers)[number];
  receipts: ReceiptScript["when"];
  receiptForm: ReceiptScript["form"];
  receiptStates: string[];
  hexIds: boolean;
};

/** ESME_RINVCMDID, as from an SMSC that does not know the command. */
const NACK: Reply = { nack: 0x03 };
/** How long before its answer a receipt comes if it overtakes it. */
const AHEAD_MS = 300;

function asScripted(script: Script, clock: Clock): SmscOptions {
  const { answer, receipts: when, receiptForm: form, receiptStates: states, hexIds } = script;
  const delayMs = when === "before" ? AHEAD_MS : 0;
  const receipts: Partial<ReceiptScript> = { when, delayMs, form, states };
  const options: SmscOptions = { answer: answer === "nack" ? NACK : answer, receipts };
  if (!hexIds) return options;
  const first = BigInt(clock.now().getTime()) * 1_000n;
  return {
    ...options,
    newId: (number) => (first + BigInt(number)).toString(16),
    receipts: { ...receipts, spellId: (id) => BigInt(`0x${id}`).toString().padStart(20, "0") },
  };
}

/** Receipt states of a carrier, of which any may be used. */
function words(value: string): string[] {
  const states = value.split(",").map((word) => word.trim());
  if (!states.every((word) => /^[A-Z]{1,10}$/.test(word)))
    throw new Error(`must be states in upper case, separated by commas, not "${value}".`);
  return states;
}

export const smscCommands = [smsc];
