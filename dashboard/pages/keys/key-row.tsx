import { Badge, Group, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ApiKey } from "#contract";
import { nowMs } from "../../clock.ts";
import { useDenial } from "../../session.ts";
import { keysText as text } from "../../text/keys.ts";
import { words } from "../../text/words.ts";
import { type Column } from "../../ui/listing.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import classes from "./key-row.module.css";

export const COLUMNS: Column<ApiKey>[] = [
  {
    name: "name",
    header: text.columns.name,
    isName: true,
    cell: (key) => (
      <>
        <Text component="div" fw={550} size="sm">
          {key.name}
        </Text>
        <div className={classes["below"]}>
          <Mask mask={key.mask} />
          <Creation apiKey={key} />
        </div>
      </>
    ),
  },
  { name: "mask", header: text.columns.mask, from: 1280, cell: (key) => <Mask mask={key.mask} /> },
  { name: "scopes", header: text.columns.scopes, cell: (key) => <Scopes apiKey={key} /> },
  {
    name: "created",
    header: text.columns.created,
    from: 1280,
    cell: (key) => (
      <Stack gap={0}>
        <Time at={key.createdAt} form="relative" />
        <Text component="div" size="xs" c="dimmed" className={classes["creator"]}>
          {text.by(key.createdBy.name)}
        </Text>
      </Stack>
    ),
  },
  { name: "lastUsed", header: text.columns.lastUsed, cell: (key) => <LastUsed apiKey={key} /> },
  {
    name: "state",
    header: text.columns.state,
    cell: (key) => (
      <Stack gap={0}>
        <KeyState state={key.state} />
        <Lasting apiKey={key} />
      </Stack>
    ),
  },
  { name: "actions", header: text.columns.actions, cell: (key) => <KeyActions apiKey={key} /> },
];

function Mask({ mask }: { mask: string }) {
  return <code className="mono">{mask}</code>;
}

/** Time and person in one, where there are no columns. */
function Creation({ apiKey: { createdAt, createdBy } }: { apiKey: ApiKey }) {
  return (
    <Text size="xs" c="dimmed" miw={0} style={{ overflowWrap: "anywhere" }}>
      {text.columns.created} <Time at={createdAt} form="relative" /> {text.by(createdBy.name)}
    </Text>
  );
}

function Scopes({ apiKey }: { apiKey: ApiKey }) {
  return (
    <Stack gap={2} align="flex-start">
      {apiKey.scopes.map((scope) => (
        <code key={scope} className="mono">
          {scope}
        </code>
      ))}
    </Stack>
  );
}

const STATE_COLOR: Record<ApiKey["state"], string> = {
  active: "teal",
  expires_soon: "yellow",
  expired: "gray",
  revoked: "red",
};

function KeyState({ state }: { state: ApiKey["state"] }) {
  return (
    <Badge variant="dot" color={STATE_COLOR[state]} flex="none">
      {text.states[state]}
    </Badge>
  );
}

/** When the key ends, or ended. */
function Lasting({ apiKey: { state, expiresAt, revokedAt } }: { apiKey: ApiKey }) {
  const hasEnded = state === "expired" || state === "revoked";
  const endsAt = revokedAt ?? expiresAt;
  return (
    // The same height with a time as without.
    <Text span size="xs" c="dimmed" lh="24px">
      {endsAt ? (
        <>
          {hasEnded ? text.states[state] : text.expires} <Time at={endsAt} form="relative" />
        </>
      ) : (
        text.lasts
      )}
    </Text>
  );
}

const UNUSED_MS = 30 * 86_400_000;

function LastUsed({ apiKey }: { apiKey: ApiKey }) {
  return (
    <Stack gap={0}>
      {apiKey.lastUsedAt ? <Time at={apiKey.lastUsedAt} form="relative" /> : words.never}
      <Unused apiKey={apiKey} />
    </Stack>
  );
}

/** A hint that nobody may need this key any more. */
function Unused({ apiKey }: { apiKey: ApiKey }) {
  const isActive = apiKey.state === "active" || apiKey.state === "expires_soon";
  const since = Date.parse(apiKey.lastUsedAt ?? apiKey.createdAt);
  if (!isActive || nowMs() - since <= UNUSED_MS) return null;
  return (
    <Text span size="xs" c="dimmed">
      {text.unused}
    </Text>
  );
}

function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const navigate = useNavigate({ from: "/keys" });
  const denial = useDenial("developer");
  if (apiKey.state === "revoked") return null;
  const open = (dialog: "create" | "revoke") =>
    void navigate({ search: (old) => ({ ...old, dialog, id: apiKey.keyId }) });
  return (
    <Group gap="xs" wrap="nowrap">
      <RowButton
        reason={denial}
        aria-label={text.replaceNamed(apiKey.name)}
        onClick={() => open("create")}
      >
        {text.replace}
      </RowButton>
      <RowButton
        reason={denial}
        takesAway
        aria-label={text.revokeNamed(apiKey.name)}
        onClick={() => open("revoke")}
      >
        {text.revoke}
      </RowButton>
    </Group>
  );
}

export function CompactKey({ apiKey }: { apiKey: ApiKey }) {
  return (
    <Stack gap={6}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text span fw={550} miw={0} style={{ overflowWrap: "anywhere" }}>
          {apiKey.name}
        </Text>
        <KeyState state={apiKey.state} />
      </Group>
      <Group justify="space-between" gap="xs">
        <Mask mask={apiKey.mask} />
        <Text span size="sm" c="dimmed">
          {apiKey.lastUsedAt ? (
            <>
              {text.used} <Time at={apiKey.lastUsedAt} form="relative" />
            </>
          ) : (
            text.neverUsed
          )}
        </Text>
      </Group>
      <Group justify="space-between" gap="xs">
        <Creation apiKey={apiKey} />
        <Lasting apiKey={apiKey} />
      </Group>
      <Unused apiKey={apiKey} />
      <Group justify="space-between" gap="xs" align="flex-end">
        <Scopes apiKey={apiKey} />
        <KeyActions apiKey={apiKey} />
      </Group>
    </Stack>
  );
}
