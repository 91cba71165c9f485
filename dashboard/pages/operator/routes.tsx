import { Group, NativeSelect, Stack, Text } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type Answer, call } from "../../api.ts";
import { operatorText, routingText as text } from "../../text/operator.ts";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { type Fields, useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { checkPrefix, Finder, prefixName, SetByPrefix, useRowActions } from "./prefix.tsx";

const LIST = "GET /console/operator/routes";
type Route = Answer<typeof LIST>["data"][number];

/** The longest prefix wins; its carriers are tried in order. */
export function RoutesPage() {
  const routes = useRead(LIST, {});
  const client = useQueryClient();
  const rowActions = useRowActions({
    version: routes.data?.version,
    title: text.removeRouteTitle,
    consequence: text.removeRouteText,
    remove: (query) =>
      call("DELETE /console/operator/routes", { query }).finally(() => askAgain(client, [LIST])),
  });
  const fields = useFields<Values>(
    { prefix: "", first: "", others: [] },
    {
      prefix: checkPrefix,
      first: (value) => (value === "" ? text.carrierNeeded : null),
    },
  );
  const actions = ({ prefix, carriers }: Route) =>
    rowActions.buttons(prefix, () => {
      const [first = "", ...others] = carriers.map(({ carrierId }) => carrierId);
      fields.setValues({ prefix, first, others });
      fields.getInputNode("first")?.focus();
    });
  const columns: Column<Route>[] = [
    { name: "prefix", header: text.prefix, cell: ({ prefix }) => prefixName(prefix) },
    {
      name: "carriers",
      header: text.carriers,
      isLong: true,
      cell: ({ carriers }) => carriers.map(({ name }) => name).join(", "),
    },
    { name: "actions", header: text.actions, cell: actions },
  ];
  return (
    <Stack gap="lg">
      {rowActions.dialog}
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
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Stack gap={0} miw={0}>
              <Text span size="sm" fw={550}>
                {prefixName(route.prefix)}
              </Text>
              <Text span size="sm" c="dimmed">
                {route.carriers.map(({ name }) => name).join(", ")}
              </Text>
            </Stack>
            {actions(route)}
          </Group>
        )}
      />
      <SetRoute fields={fields} routes={routes.data} />
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

type Values = { prefix: string; first: string; others: string[] };

type SetRouteProps = { fields: Fields<Values>; routes: Answer<typeof LIST> | undefined };

function SetRoute({ fields, routes }: SetRouteProps) {
  const client = useQueryClient();
  const carriers = useRead("GET /console/operator/carriers", {});
  const set = useAction(({ prefix, first, others }: Values) =>
    call("POST /console/operator/routes", {
      body: { prefix, carrierIds: [first, ...others], version: routes?.version },
    }),
  );
  async function send(values: Values): Promise<void> {
    const outcome = await set.run(values);
    if (outcome?.ok === false) fields.take(outcome.failure);
    else fields.reset();
    askAgain(client, [LIST]);
  }
  const all = carriers.data?.data ?? [];
  const { prefix, first, others } = fields.values;
  const chosen = new Set([first, ...others]);
  /** Each carrier once. */
  const namesFor = (own: string) =>
    all
      .filter(({ carrierId }) => carrierId === own || !chosen.has(carrierId))
      .map(({ carrierId, name }) => ({ value: carrierId, label: name }));
  // One more than are chosen, while there are more.
  const places = others.length > 0 && chosen.size >= all.length ? others : [...others, ""];
  const before = routes?.data.find((route) => route.prefix === prefix);
  // An empty prefix is that of the default route, also while nobody has meant it yet.
  const isBegun = prefix !== "" || first !== "";
  return (
    <SetByPrefix
      title={text.setRouteTitle}
      submit={text.setRoute}
      prefix={fields.getInputProps("prefix")}
      action={{ ...set, failure: fields.general(set.failure) }}
      onSubmit={fields.submit((values) => void send(values))}
      replaces={isBegun ? before?.carriers.map(({ name }) => name).join(", ") : undefined}
    >
      <NativeSelect
        label={text.first}
        data={[{ value: "", label: "–" }, ...namesFor(first)]}
        {...fields.getInputProps("first")}
      />
      {places.map((own, place) => (
        <NativeSelect
          key={place}
          label={text.next(place)}
          data={[{ value: "", label: text.noNext }, ...namesFor(own)]}
          value={own}
          onChange={({ currentTarget: { value } }) =>
            fields.setFieldValue(
              "others",
              places.with(place, value).filter((carrierId) => carrierId !== ""),
            )
          }
        />
      ))}
    </SetByPrefix>
  );
}
