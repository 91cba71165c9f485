import { type FollowedEvent, followEvents, type Forwarded, forwarder } from "#webhooks";
import { accountOption, requireAccount } from "./accounts.ts";
import { command, CommandFailure, type Context, WrongCall } from "./command.ts";
import { optional } from "./input.ts";
import { webUrl } from "./input-values.ts";
import { inOrderPerMessage } from "./in-order.ts";

const listen = command({
  name: "listen",
  summary:
    "Shows every status event of an account as it happens, and can forward it to a URL of yours.",
  options: {
    account: accountOption,
    forwardTo: optional("URL", webUrl, "Post each event there, signed like a webhook."),
  },
  prints: "one object a line: event, messageId, status, body, headers, forwarded",
  examples: [
    "listen --account 019a85c2-5b00-7abc-8def-0123456789ab --forward-to http://localhost:3000/hook",
  ],
  isService: true,
  async run({ account, forwardTo }, context) {
    const { db, secrets, isAlone, isBack } = await context.installation();
    if (isAlone) throw new CommandFailure(NOTHING_TO_HEAR);
    const { name } = await requireAccount(db, account);
    const forwarding = forwardTo === undefined ? undefined : openForwarder(context, forwardTo);
    const queue = inOrderPerMessage();
    try {
      const { clock, signal, program, terminal } = context;
      const deps = { db, clock, secrets: await secrets(), version: program.version };
      const onReady = () => terminal.say(`Listening to the events of ${name}. Stop with Ctrl+C.`);
      const onLapse = () =>
        terminal.say("Events could not be followed for a while; some may be missing.");
      const onAway = () => terminal.say("The database is away; waiting for it.");
      const follow = { accountId: account, signal, onReady, onLapse, onAway, isBack };
      const show = (event: SignedEvent, forwarded: Forwarding | null) => {
        if (terminal.isJson) terminal.printJson(jsonOf(event, forwarded));
        else terminal.print(textLine(event, forwarded));
      };
      let isTold = false;
      // Do not wait for the receiver: events not read in time are deleted from the database.
      for await (const event of followEvents(deps, follow)) {
        if (queue.size() < MAX_WAITING) {
          queue.add(event.messageId, async () => {
            const signed = { ...event, headers: event.sign() };
            if (signal.aborted && forwarding) show(signed, notForwarded("listening was stopped"));
            else show(signed, (await forwarding?.forward(signed)) ?? null);
          });
          continue;
        }
        if (!isTold) terminal.say(TOO_SLOW);
        isTold = true;
        show(
          { ...event, headers: event.sign() },
          notForwarded("too many are waiting for the receiver"),
        );
      }
      await queue.idle();
    } finally {
      await forwarding?.close();
    }
    return undefined;
  },
});

const NOTHING_TO_HEAR =
  "No service is running, so there are no events. Start it first, with: npm start";

/** For receivers slower than the events: so many wait in memory, some 100 MB with their bodies. */
const MAX_WAITING = 50_000;

const TOO_SLOW = `The receiver is too slow: ${MAX_WAITING} events are waiting for it. Further ones are shown here, but not forwarded until it has caught up.`;

type SignedEvent = FollowedEvent & { headers: Record<string, string> };
type Forwarding = Forwarded | { httpStatus: null; error: string; durationMs: null };

function notForwarded(why: string): Forwarding {
  return { httpStatus: null, error: `not forwarded: ${why}`, durationMs: null };
}

function openForwarder({ clock }: Context, url: string) {
  const opened = forwarder({ clock, url });
  if (typeof opened === "string") throw new WrongCall(`--forward-to: ${opened}`);
  return opened;
}

/** The body as text loses nothing: its bytes are UTF-8, and are signed exactly as they are. */
function jsonOf(event: SignedEvent, forwarded: Forwarding | null) {
  const { event: name, messageId, status, body, headers } = event;
  return { event: name, messageId, status, body: body.toString(), headers, forwarded };
}

function textLine({ at, event, messageId }: SignedEvent, forwarded: Forwarding | null): string {
  const line = `${at.toISOString()}  ${event.padEnd(19)}  ${messageId}`;
  if (forwarded === null) return line;
  const answer = forwarded.httpStatus ?? forwarded.error ?? "no answer";
  const duration = forwarded.durationMs === null ? "" : ` in ${forwarded.durationMs} ms`;
  return `${line}  ${answer}${duration}`;
}

export const listenCommands = [listen];
