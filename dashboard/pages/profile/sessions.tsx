import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Session } from "#contract";
import { call } from "../../api.ts";
import { profileText as text } from "../../text/settings.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { browserOf } from "./browser-name.ts";
import { Part } from "./part.tsx";

/** The user's sessions, and a way to end each. */
export function Sessions() {
  const sessions = useRead("GET /console/auth/sessions", {});
  const client = useQueryClient();
  const end = useAction(
    (sessionId: string | undefined) =>
      (sessionId
        ? call("DELETE /console/auth/sessions/{sessionId}", { params: { sessionId } })
        : call("POST /console/auth/sessions/end-others", {})
      ).finally(() => askAgain(client, ["GET /console/auth/sessions"])),
    () => toast({ title: text.ended, message: text.endedHint }),
  );
  const columns: Column<Session>[] = [
    { name: "place", header: text.place, isLong: true, cell: (row) => <Place session={row} /> },
    {
      name: "lastSeen",
      header: text.lastSeen,
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} form="relative" />,
    },
    {
      name: "actions",
      header: text.actions,
      cell: (row) => <EndButton session={row} onEnd={(id) => void end.run(id)} />,
    },
  ];
  const hasOthers = (sessions.data?.data.length ?? 0) > 1;
  return (
    <Part title={text.sessions}>
      <Stack gap="md">
        {end.failure && <FailureLine failure={end.failure} />}
        <Listing
          label={text.sessions}
          columns={columns}
          list={sessions}
          rowId={({ sessionId }) => sessionId}
          empty={null}
          compact={(row) => (
            <Group justify="space-between" wrap="nowrap" gap="xs">
              <Place session={row}>
                {" · "}
                <Time at={row.lastSeenAt} form="relative" />
              </Place>
              <EndButton session={row} onEnd={(id) => void end.run(id)} />
            </Group>
          )}
        />
        {hasOthers && (
          <Group>
            <Button
              variant="default"
              loading={end.isRunning}
              onClick={() => void end.run(undefined)}
            >
              {text.endOthers}
            </Button>
          </Group>
        )}
      </Stack>
    </Part>
  );
}

function Place({ session, children }: { session: Session; children?: ReactNode }) {
  return (
    <Stack gap={0}>
      <Text span size="sm">
        {browserOf(session.userAgent) ?? text.unknownPlace}{" "}
        {session.isCurrent && (
          <Badge variant="outline" size="xs" color="gray" c="dimmed">
            {text.thisOne}
          </Badge>
        )}
      </Text>
      <Text span size="xs" c="dimmed">
        {session.address}
        {children}
      </Text>
    </Stack>
  );
}

function EndButton({ session, onEnd }: { session: Session; onEnd: (id: string) => void }) {
  if (session.isCurrent) return null;
  const name = browserOf(session.userAgent) ?? text.unknownPlace;
  return (
    <RowButton aria-label={text.endNamed(name)} onClick={() => onEnd(session.sessionId)}>
      {text.end}
    </RowButton>
  );
}
