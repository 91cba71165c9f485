import { Group, NativeSelect, Text } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { ApiKey } from "#contract";
import { formatNumber } from "../format.ts";
import { part } from "../parts.ts";
import { present } from "../search.ts";
import { useAccount, useDenial } from "../session.ts";
import { keysText as text } from "../text/keys.ts";
import { ClearFilters } from "../ui/clear-filters.tsx";
import { Empty } from "../ui/empty.tsx";
import { Listing } from "../ui/listing.tsx";
import { Page } from "../ui/page.tsx";
import { Pager } from "../ui/pager.tsx";
import { ReasonedButton } from "../ui/reasoned.tsx";
import { useRead } from "../use-read.ts";
import { KEY_STATES } from "../vocabulary.ts";
import { useCursorFallback } from "../ui/use-cursor-fallback.ts";
import { COLUMNS, CompactKey } from "./keys/key-row.tsx";

/** Loaded when first opened, so that the list does not wait for them. */
const CreateKey = part(() => import("./keys/create-key.tsx"), "CreateKey");
const RevokeKey = part(() => import("./keys/revoke-key.tsx"), "RevokeKey");

const ROUTE = "/signed-in/keys";

export function KeysPage() {
  const account = useAccount();
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: "/keys" });
  const denial = useDenial("developer");
  const keys = useRead(
    "GET /console/accounts/{accountId}/keys",
    {
      params: { accountId: account.accountId },
      query: present({
        cursor: search.cursor,
        limit: search.limit && Number(search.limit),
        state: search.state && [search.state],
      }),
    },
    { keepsOld: true },
  );
  useCursorFallback(keys.failure, () =>
    navigate({ search: ({ cursor: _, ...rest }) => rest, replace: true }),
  );
  const createButton = (
    <ReasonedButton
      reason={denial}
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => void navigate({ search: (old) => ({ ...old, dialog: "create" as const }) })}
    >
      {text.create}
    </ReasonedButton>
  );
  const empty = search.state ? (
    <Empty
      icon={<IconKey aria-hidden />}
      title={text.noMatch(text.states[search.state])}
      description={text.noMatchHint}
    >
      <ClearFilters onClear={() => void navigate({ search: {} })} />
    </Empty>
  ) : (
    <Empty icon={<IconKey aria-hidden />} title={text.noneYet} description={text.noneYetHint}>
      {createButton}
    </Empty>
  );
  const hasKeys = (keys.data?.totalCount ?? 0) > 0;
  return (
    <Page
      title={text.title}
      about={account.name}
      lead={text.lead}
      hasTimes={keys.data?.totalCount !== 0}
      actions={hasKeys ? createButton : undefined}
    >
      {hasKeys && (
        <Group justify="space-between" align="flex-end">
          <StateFilter
            state={search.state}
            onChange={(state) => void navigate({ search: present({ state, limit: search.limit }) })}
          />
          {keys.data && (
            <Text c="dimmed" size="sm">
              {text.activeOf(
                formatNumber(keys.data.activeCount),
                formatNumber(keys.data.maxActive),
              )}
            </Text>
          )}
        </Group>
      )}
      <Listing
        label={text.title}
        columns={COLUMNS}
        list={keys}
        rowId={(key) => key.keyId}
        empty={empty}
        compact={(key) => <CompactKey apiKey={key} />}
      />
      <Pager
        list={keys}
        search={search}
        onTurn={(turn) => void navigate({ search: { ...search, ...turn } })}
      />
      <Suspense>
        <KeyDialogs keys={keys.data?.data ?? []} />
      </Suspense>
    </Page>
  );
}

type StateChoice = ApiKey["state"] | undefined;

function StateFilter({
  state,
  onChange,
}: {
  state: StateChoice;
  onChange: (state: StateChoice) => void;
}) {
  return (
    <NativeSelect
      label={text.state}
      value={state ?? ""}
      data={[
        { value: "", label: text.allStates },
        ...KEY_STATES.map((value) => ({ value, label: text.states[value] })),
      ]}
      onChange={(event) => onChange((event.currentTarget.value || undefined) as StateChoice)}
    />
  );
}

/** The dialog that the address asks for. */
function KeyDialogs({ keys }: { keys: ApiKey[] }) {
  const { dialog, id } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: "/keys" });
  const denial = useDenial("developer");
  const listed = keys.find(({ keyId }) => keyId === id);
  const [seen, setSeen] = useState<ApiKey>();
  if (listed && listed !== seen) setSeen(listed);
  // The key as last seen: a dialog that shows a key once must outlive its row.
  const chosen = listed ?? (seen?.keyId === id ? seen : undefined);
  const close = (ignoreBlocker: boolean) =>
    void navigate({ search: ({ dialog: _, id: __, ...rest }) => rest, ignoreBlocker });
  if (denial !== undefined) return null;
  if (dialog === "create" && (id === undefined || chosen)) {
    // It has already asked whether to close.
    return <CreateKey replaces={chosen} onClose={() => close(true)} key={id ?? "new"} />;
  }
  if (dialog === "revoke" && chosen) {
    return <RevokeKey apiKey={chosen} onClose={() => close(false)} key={id} />;
  }
  return null;
}
