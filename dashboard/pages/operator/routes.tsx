import { Group, NativeSelect, Stack, Text } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type Answer, call } from "../../api.ts";
import { operatorText, routingText as text } from "../../text/operator.ts";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { checkPrefix, Finder, prefixName, SetByPrefix, useRemoval } from "./prefix.tsx";

const LIST = "GET /console/operator/routes";
type Route = Answer<typeof LIST>["data"][number];

/** The longest prefix wins; its carriers are tried in order. */
export function RoutesPage() {
  const routes = useRead(LIST, {});
  const client = useQueryClient();
  const removal = useRemoval({
    version: routes.data?.version,
    title: text.removeRouteTitle,
    consequence: text.removeRouteText,
    remove: (query) =>
      call("DELETE /console/operator/routes", { query }).finally(() => askAgain(client, [LIST])),
  });
  const columns: Column<Route>[] = [
    { name: "prefix", header: text.prefix, cell: ({ prefix }) => prefixName(prefix) },
    {
      name: "carriers",
      header: text.carriers,
      isLong: true,
      cell: ({ carriers }) => carriers.map(({ name }) => name).join(", "),
    },
    { name: "actions", header: text.actions, cell: ({ prefix }) => removal.button(prefix) },
  ];
  return (
    <Stack gap="lg">
      {removal.dialog}
      <Listing
        label={operatorText.routes}
        columns={columns}
        rows={routes.data?.data}
        rowId={({ prefix }) => `prefix ${prefix}`}
        failure={routes.failure}
        onRetry={routes.retry}
        empty={
          <Empty
            icon={<IconRoute aria-hidden />}
            title={text.noRoutes}
            description={text.noRoutesHint}
          />
        }
        compact={(route) => (
          <Group justify="space-between" gap="xs">
            <Stack gap={0}>
              <Text span size="sm" fw={550}>
                {prefixName(route.prefix)}
              </Text>
              <Text span size="sm" c="dimmed">
                {route.carriers.map(({ name }) => name).join(", ")}
              </Text>
            </Stack>
            {removal.button(route.prefix)}
          </Group>
        )}
      />
      <SetRoute routes={routes.data} />
      <Finder
        title={text.findCarrier}
        version={routes.data?.version}
        find={async (recipient) => {
          const found = await call("GET /console/operator/routes/find", { query: { recipient } });
          if (found.prefix === null) return text.noRoute;
          const carriers = found.carriers.map(({ name }) => name).join(", ");
          return text.foundRoute(carriers, found.prefix);
        }}
      />
    </Stack>
  );
}

function SetRoute({ routes }: { routes: Answer<typeof LIST> | undefined }) {
  const client = useQueryClient();
  const carriers = useRead("GET /console/operator/carriers", {});
  const fields = useFields(
    { prefix: "", first: "", second: "" },
    {
      prefix: checkPrefix,
      first: (value) => (value === "" ? text.carrierNeeded : null),
    },
  );
  const set = useAction(({ prefix, first, second }: typeof fields.values) =>
    call("POST /console/operator/routes", {
      body: {
        prefix,
        carrierIds: second === "" ? [first] : [first, second],
        version: routes?.version,
      },
    }),
  );
  async function send(values: typeof fields.values): Promise<void> {
    const outcome = await set.run(values);
    if (outcome?.ok === false) fields.take(outcome.failure);
    else fields.reset();
    askAgain(client, [LIST]);
  }
  const names = (carriers.data?.data ?? []).map(({ carrierId, name }) => ({
    value: carrierId,
    label: name,
  }));
  const before = routes?.data.find(({ prefix }) => prefix === fields.values.prefix);
  return (
    <SetByPrefix
      title={text.setRouteTitle}
      submit={text.setRoute}
      prefix={fields.getInputProps("prefix")}
      action={{ ...set, failure: fields.general(set.failure) }}
      onSubmit={fields.submit((values) => void send(values))}
    >
      <NativeSelect
        label={text.first}
        data={[{ value: "", label: "–" }, ...names]}
        {...fields.getInputProps("first")}
      />
      <NativeSelect
        label={text.second}
        data={[{ value: "", label: text.noSecond }, ...names]}
        {...fields.getInputProps("second")}
      />
      {before && (
        <Text size="sm" role="status" style={{ flexBasis: "100%" }}>
          {text.replaces(before.carriers.map(({ name }) => name).join(", "))}
        </Text>
      )}
    </SetByPrefix>
  );
}
