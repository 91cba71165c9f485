import { listPrices, removePrice, setPrice } from "#messages";
import { ACTOR, command, CommandFailure } from "./command.ts";
import { required } from "./input.ts";
import { wholeNumber } from "./input-values.ts";
import { prefixArgument, shownPrefix } from "./prefixes.ts";
import { facts, table } from "./table.ts";

const set = command({
  name: "price set",
  summary: "Sets the credits per segment for numbers with a prefix; the longest prefix wins.",
  arguments: {
    prefix: prefixArgument,
    credits: required("CREDITS", wholeNumber(0, 1_000_000), "Credits per segment."),
  },
  prints: '{"prefix","credits"}',
  examples: ["price set 49 2", 'price set "" 1'],
  async run(price, context) {
    const { db } = await context.installation();
    await setPrice(db, price, { actor: ACTOR, now: context.clock.now() });
    const { prefix, credits } = price;
    return { json: { prefix, credits }, text: facts({ prefix: shownPrefix(prefix), credits }) };
  },
});

const remove = command({
  name: "price remove",
  summary: "Removes a prefix's price; the next shorter prefix then applies, or else 1 credit.",
  arguments: { prefix: prefixArgument },
  prints: '{"prefix"}',
  examples: ["price remove 49"],
  async run({ prefix }, context) {
    const { db } = await context.installation();
    const isGone = await removePrice(db, prefix, { actor: ACTOR, now: context.clock.now() });
    if (!isGone)
      throw new CommandFailure(
        `No price is set for ${shownPrefix(prefix)}. List them with: npx posthorn price list`,
      );
    return { json: { prefix }, text: facts({ removed: shownPrefix(prefix) }) };
  },
});

const list = command({
  name: "price list",
  summary: "Lists the prices by prefix.",
  prints: '{"data":[{"prefix","credits"}]}',
  examples: ["price list"],
  async run(_given, context) {
    const { db } = await context.installation();
    const data = await listPrices(db);
    const lines = data.map(({ prefix, credits }) => [shownPrefix(prefix), credits]);
    return { json: { data }, text: table(["PREFIX", "CREDITS"], lines) };
  },
});

export const priceCommands = [set, remove, list];
