import { NumberInput, Stack } from "@mantine/core";
import { IconCoins } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type Answer, call } from "../../api.ts";
import { checkWholeNumber } from "../../fields.ts";
import { countOf, formatNumber } from "../../format.ts";
import { operatorText, routingText as text } from "../../text/operator.ts";
import { Empty } from "../../ui/empty.tsx";
import type { Column } from "../../ui/listing.tsx";
import { askAgain, useRead } from "../../use-read.ts";
import {
  ByPrefix,
  checkPrefix,
  Finder,
  SetByPrefix,
  useRowActions,
  useSetting,
} from "./prefix.tsx";
import { PrefixListing } from "./prefix-listing.tsx";

const LIST = "GET /console/operator/prices";
type Price = Answer<typeof LIST>["data"][number];

type Values = { prefix: string; credits: number | string };

/** The longest prefix applies; if none does, a segment costs 1 credit. */
export function PricesPage() {
  const prices = useRead(LIST, {});
  const client = useQueryClient();
  const setting = useSetting<Values, Price>({
    name: "price",
    list: prices.data,
    empty: { prefix: "", credits: "" },
    checks: {
      prefix: checkPrefix,
      credits: checkWholeNumber,
    },
    set: ({ values: { prefix, credits }, version }) =>
      call("POST /console/operator/prices", {
        body: { prefix, credits: Number(credits), version },
      }).finally(() => askAgain(client, [LIST])),
  });
  const rowActions = useRowActions({
    version: prices.data?.version,
    title: text.removePriceTitle,
    consequence: text.removePriceText,
    remove: (query) =>
      call("DELETE /console/operator/prices", { query })
        .then(() => setting.renew())
        .finally(() => askAgain(client, [LIST])),
  });
  const actions = (price: Price) =>
    rowActions.buttons(price.prefix, () => setting.edit(price, "credits"));
  return (
    <Stack gap="lg">
      {rowActions.dialog}
      <ByPrefix>
        <SetByPrefix
          setting={setting}
          title={text.setPriceTitle}
          submit={text.setPrice}
          replaces={setting.before && countOf(setting.before.credits, "credit")}
        >
          <NumberInput
            label={text.credits}
            min={0}
            allowDecimal={false}
            {...setting.fields.getInputProps("credits")}
          />
        </SetByPrefix>
        <Finder
          title={text.findPrice}
          version={prices.data?.version}
          find={async (recipient) => {
            const found = await call("GET /console/operator/prices/find", { query: { recipient } });
            const credits = countOf(found.credits, "credit");
            return found.prefix === null
              ? text.noPrice(credits)
              : text.foundPrice(credits, found.prefix);
          }}
        />
      </ByPrefix>
      <PrefixListing
        label={operatorText.prices}
        list={prices}
        column={COLUMN}
        says={({ credits }) => countOf(credits, "credit")}
        actions={actions}
        others={text.unpriced}
        empty={
          <Empty
            icon={<IconCoins aria-hidden />}
            title={text.noPrices}
            description={text.noPricesHint}
          />
        }
      />
    </Stack>
  );
}

const COLUMN: Column<Price> = {
  name: "credits",
  header: text.credits,
  isNumber: true,
  cell: ({ credits }) => formatNumber(credits),
};
