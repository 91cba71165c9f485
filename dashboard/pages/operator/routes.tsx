import { NativeSelect, Stack } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import type { Carrier } from "#contract";
import { type Answer, call } from "../../api.ts";
import { operatorText, routingText as text } from "../../text/operator.ts";
import { Empty } from "../../ui/empty.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
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

const LIST = "GET /console/operator/routes";
type Route = Answer<typeof LIST>["data"][number];

/** The longest prefix applies; its carriers are tried in order. */
export function RoutesPage() {
  const routes = useRead(LIST, {});
  const known = useRead("GET /console/operator/carriers", {});
  const carriers = known.data?.data;
  // One removed meanwhile is offered no more, so the field that has it looks empty.
  const isThere = (wanted: string) =>
    carriers?.some(({ carrierId }) => carrierId === wanted) !== false;
  const client = useQueryClient();
  const setting = useSetting<Values, Route>({
    name: "route",
    list: routes.data,
    empty: { prefix: "", first: "", others: [] },
    checks: {
      prefix: checkPrefix,
      first: (value) => (value !== "" && isThere(value) ? null : text.carrierNeeded),
    },
    set: ({ values: { prefix, first, others }, version }) =>
      call("POST /console/operator/routes", {
        body: { prefix, carrierIds: [first, ...others.filter(isThere)], version },
      }).finally(() => askAgain(client, [LIST])),
  });
  const rowActions = useRowActions({
    version: routes.data?.version,
    title: text.removeRouteTitle,
    consequence: text.removeRouteText,
    remove: (query) =>
      call("DELETE /console/operator/routes", { query })
        .then(() => setting.renew())
        .finally(() => askAgain(client, [LIST])),
  });
  const actions = ({ prefix, carriers }: Route) =>
    rowActions.buttons(prefix, () => {
      const [first = "", ...others] = carriers.map(({ carrierId }) => carrierId);
      setting.edit({ prefix, first, others }, "first");
    });
  return (
    <Stack gap="lg">
      {rowActions.dialog}
      {known.failure && !carriers && <FailurePanel failure={known.failure} onRetry={known.retry} />}
      <ByPrefix>
        <SetRoute setting={setting} all={carriers ?? []} />
        <Finder
          title={text.findCarrier}
          version={routes.data?.version}
          find={async (recipient) => {
            const found = await call("GET /console/operator/routes/find", { query: { recipient } });
            if (found.prefix === null) return text.noRoute;
            return text.foundRoute(namesOf(found), found.prefix);
          }}
        />
      </ByPrefix>
      <PrefixListing
        label={operatorText.routes}
        list={routes}
        column={COLUMN}
        says={namesOf}
        actions={actions}
        others={text.unrouted}
        empty={
          <Empty
            icon={<IconRoute aria-hidden />}
            title={text.noRoutes}
            description={text.noRoutesHint}
          />
        }
      />
    </Stack>
  );
}

function namesOf({ carriers }: Pick<Route, "carriers">): string {
  return carriers.map(({ name }) => name).join(", ");
}

const COLUMN: Column<Route> = {
  name: "carriers",
  header: text.carriers,
  isLong: true,
  cell: namesOf,
};

type Values = { prefix: string; first: string; others: string[] };

type SetRouteProps = {
  setting: ReturnType<typeof useSetting<Values, Route>>;
  /** The carriers to choose from. */
  all: Carrier[];
};

function SetRoute({ setting, all }: SetRouteProps) {
  const { fields, before } = setting;
  const { first, others } = fields.values;
  const chosen = new Set([first, ...others]);
  /** Offers each carrier only once. */
  const namesFor = (own: string) =>
    all
      .filter(({ carrierId }) => carrierId === own || !chosen.has(carrierId))
      .map(({ carrierId, name }) => ({ value: carrierId, label: name }));
  // Shows one more input than are chosen, as long as there are carriers left.
  const places = others.length > 0 && chosen.size >= all.length ? others : [...others, ""];
  return (
    <SetByPrefix
      setting={setting}
      title={text.setRouteTitle}
      submit={text.setRoute}
      replaces={before && namesOf(before)}
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
