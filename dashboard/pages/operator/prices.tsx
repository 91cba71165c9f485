import { Group, NumberInput, Stack, Text } from "@mantine/core";
import { IconCoins } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type Answer, call } from "../../api.ts";
import { countOf, formatNumber } from "../../format.ts";
import { operatorText, routingText as text } from "../../text/operator.ts";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { type Fields, useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { checkPrefix, Finder, prefixName, SetByPrefix, useRowActions } from "./prefix.tsx";

const LIST = "GET /console/operator/prices";
type Price = Answer<typeof LIST>["data"][number];

/** The longest prefix wins; without any, a segment costs 1 credit. */
export function PricesPage() {
  const prices = useRead(LIST, {});
  const client = useQueryClient();
  const rowActions = useRowActions({
    version: prices.data?.version,
    title: text.removePriceTitle,
    consequence: text.removePriceText,
    remove: (query) =>
      call("DELETE /console/operator/prices", { query }).finally(() => askAgain(client, [LIST])),
  });
  const fields = useFields<Values>(
    { prefix: "", credits: "" },
    {
      prefix: checkPrefix,
      credits: (value) => (/^\d+$/.test(String(value)) ? null : text.creditsWrong),
    },
  );
  const actions = (price: Price) =>
    rowActions.buttons(price.prefix, () => {
      fields.setValues(price);
      fields.getInputNode("credits")?.focus();
    });
  const columns: Column<Price>[] = [
    { name: "prefix", header: text.prefix, cell: ({ prefix }) => prefixName(prefix) },
    {
      name: "credits",
      header: text.credits,
      isNumber: true,
      cell: ({ credits }) => formatNumber(credits),
    },
    { name: "actions", header: text.actions, cell: actions },
  ];
  return (
    <Stack gap="lg">
      {rowActions.dialog}
      <Listing
        label={operatorText.prices}
        columns={columns}
        rows={prices.data?.data}
        rowId={({ prefix }) => `prefix ${prefix}`}
        failure={prices.failure}
        onRetry={prices.retry}
        empty={
          <Empty
            icon={<IconCoins aria-hidden />}
            title={text.noPrices}
            description={text.noPricesHint}
          />
        }
        compact={(price) => (
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Stack gap={0} miw={0}>
              <Text span size="sm" fw={550}>
                {prefixName(price.prefix)}
              </Text>
              <Text span size="sm" c="dimmed">
                {countOf(price.credits, "credit")}
              </Text>
            </Stack>
            {actions(price)}
          </Group>
        )}
      />
      <SetPrice fields={fields} prices={prices.data} />
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
    </Stack>
  );
}

type Values = { prefix: string; credits: number | string };

type SetPriceProps = { fields: Fields<Values>; prices: Answer<typeof LIST> | undefined };

function SetPrice({ fields, prices }: SetPriceProps) {
  const client = useQueryClient();
  const set = useAction(({ prefix, credits }: Values) =>
    call("POST /console/operator/prices", {
      body: { prefix, credits: Number(credits), version: prices?.version },
    }),
  );
  async function send(values: Values): Promise<void> {
    const outcome = await set.run(values);
    if (outcome?.ok === false) fields.take(outcome.failure);
    else fields.reset();
    askAgain(client, [LIST]);
  }
  const before = prices?.data.find(({ prefix }) => prefix === fields.values.prefix);
  // An empty prefix is that of the default price, also while nobody has meant it yet.
  const isBegun = fields.values.prefix !== "" || fields.values.credits !== "";
  return (
    <SetByPrefix
      title={text.setPriceTitle}
      submit={text.setPrice}
      prefix={fields.getInputProps("prefix")}
      action={{ ...set, failure: fields.general(set.failure) }}
      onSubmit={fields.submit((values) => void send(values))}
      replaces={isBegun && before ? countOf(before.credits, "credit") : undefined}
    >
      <NumberInput
        label={text.credits}
        min={0}
        allowDecimal={false}
        {...fields.getInputProps("credits")}
      />
    </SetByPrefix>
  );
}
