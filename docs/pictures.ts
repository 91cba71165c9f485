/**
 * `npm run pictures`: retakes the pictures in the README from the real dashboard of a real service.
 * The messages are really sent; only the week before them is made up.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { sql } from "#platform";
import { shareBrowser } from "../test/support/browser.ts";
import { eventually } from "../test/support/eventually.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { type Account, type Site, startSite } from "../test/support/site.ts";

const FOLDER = join(import.meta.dirname, "pictures");
const DESKTOP = { width: 1200, height: 760 };
/** Tall enough for a whole timeline. */
const TALL = { width: 1200, height: 1180 };
const PHONE = { width: 390, height: 760 };

/** The last four digits choose how the simulator treats each. */
const RECIPIENTS = [
  "4915112340003",
  "4915112345678",
  "4915112340001",
  "447700900123",
  "33612345678",
];
const TEXTS = [
  "Your code is 482913. It is valid for ten minutes.",
  "Your parcel is out for delivery and comes between 14:00 and 16:00.",
  "Réservation confirmée : table pour 4, samedi à 20 h. À bientôt ☕",
];

await using site = await startSite();
await using shared = await shareBrowser();
await using receiver = await startReceiver(({ headers }) => (isFirst(headers) ? 503 : 200));
await mkdir(FOLDER, { recursive: true });
const account = await site.account({ name: "Example Ltd", credits: 25_000 });
const ada = await site.person("Ada Lovelace", [[account, "owner"]]);
await makeUpTheWeek(site, account);
const shown = await sendMessages(site, await site.key(account, { name: "Web shop" }));

for (const { name, path, viewport, scheme } of [
  { name: "overview", path: "/?range=7d", viewport: DESKTOP, scheme: "light" },
  { name: "message", path: `/messages/${shown}`, viewport: TALL, scheme: "light" },
  { name: "phone", path: "/messages", viewport: PHONE, scheme: "dark" },
] as const) {
  const context = await shared.browser.newContext({
    viewport,
    deviceScaleFactor: 2,
    colorScheme: scheme,
    locale: "en-GB",
    timezoneId: "Europe/Paris",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await signIn(page);
  await page.goto(`${site.url}${path}`);
  await page.waitForLoadState("load");
  await page.waitForTimeout(2_000);
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  process.stdout.write(`docs/pictures/${name}.png\n`);
  await context.close();
}

/** The receiver is not ready for the first attempt at a message's last event. */
function isFirst(headers: Record<string, string>): boolean {
  return headers["x-sms-event"] === "message.delivered" && headers["x-sms-attempt"] === "1";
}

/** Sends as a shop would and waits until nothing more happens; returns the message to show. */
async function sendMessages({ send, db }: Site, key: string): Promise<string> {
  const sent: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const { messageId } = await send(key, {
      recipient: RECIPIENTS[n % RECIPIENTS.length],
      text: TEXTS[n % TEXTS.length],
      sender: "Example",
      reference: `order-${1042 + n}`,
      ...(n === 0 ? { callbackUrl: receiver.url, metadata: { customer: "c-77" } } : {}),
    });
    sent.push(messageId);
  }
  await eventually("nothing waits", async () => {
    const waiting = await db.query(sql`
      select message_id from send_queue union all select message_id from webhook_deliveries`);
    return waiting.length === 0;
  });
  return sent[0] ?? "";
}

/** More by day than by night, less on Sundays, and more than the week before. */
async function makeUpTheWeek({ db }: Site, { accountId }: Account): Promise<void> {
  await db.query(sql`
    update accounts set created_at = now() - interval '15 days' where account_id = ${accountId}`);
  await db.query(sql`
    with quarters as (
      select start, 40 * (0.3 + greatest(0, sin(pi() * (extract(hour from start) - 5) / 17)))
                       * (0.75 + 0.25 * abs(sin(2 * extract(isodow from start))))
                       * case extract(isodow from start) when 7 then 0.4 else 1 end
                       * case when start > now() - interval '7 days' then 1.12 else 1 end as n
        from generate_series(date_bin('15 min', now(), 'epoch') - interval '14 days', now() - interval '15 min', interval '15 min') start
    ), spans as (
      insert into stat_spans (account_id, width, start, queued, sent, delivered, undelivered, failed, charged, refunded,
                              webhooks_delivered, webhooks_exhausted, webhooks_failed)
      select ${accountId}, 15, start, 0, 0, round(n), round(n * 0.03), round(n * 0.012), round(n * 1.1), round(n * 0.012),
             round(n * 2), 0, round(n * 0.02)
        from quarters
    ), errors as (
      insert into stat_errors (account_id, width, start, code, count)
      select ${accountId}, 15, start, e.code, round(n * e.share)
        from quarters,
             (values ('RECIPIENT_UNREACHABLE', 0.02), ('RECIPIENT_UNKNOWN', 0.01), ('REJECTED_BY_CARRIER', 0.012)) as e (code, share)
       where round(n * e.share) > 0
    )
    insert into stat_latencies (account_id, width, start, class, count)
    select ${accountId}, 15, start, latency_class(make_interval(secs => l.seconds)), round(n * l.share)
      from quarters, (values (1.4, 0.3), (2.2, 0.5), (4.8, 0.15), (11, 0.05)) as l (seconds, share)
     where round(n * l.share) > 0`);
}

async function signIn(page: Page): Promise<void> {
  await page.request.post(`${site.url}/console/auth/sign-in`, {
    data: { email: ada.email, password: ada.password },
    headers: { "sec-fetch-site": "same-origin", origin: site.url },
  });
}
