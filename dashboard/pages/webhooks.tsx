import { Group, Tabs } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense } from "react";
import { part } from "../parts.ts";
import { present } from "../search.ts";
import { useAccount, useDenial } from "../session.ts";
import { webhooksText as text } from "../text/webhooks.ts";
import { Page } from "../ui/page.tsx";
import { ReasonedButton } from "../ui/reasoned.tsx";
import { Deliveries } from "./webhooks/deliveries.tsx";
import { Hosts } from "./webhooks/hosts.tsx";
import { TABS, type WebhooksSearch } from "./webhooks/search.ts";

const TestEvent = part(() => import("./webhooks/test-event.tsx"), "TestEvent");
const ReplayExhausted = part(() => import("./webhooks/replay-exhausted.tsx"), "ReplayExhausted");
const SecretPanel = part(() => import("./webhooks/secret-panel.tsx"), "SecretPanel");
const VerifySamples = part(() => import("./webhooks/verify-samples.tsx"), "VerifySamples");

export function WebhooksPage() {
  const account = useAccount();
  const search = useSearch({ from: "/signed-in/webhooks" });
  const navigate = useNavigate({ from: "/webhooks" });
  const denial = useDenial("developer");
  const open = (dialog: WebhooksSearch["dialog"]) =>
    void navigate({ search: (old) => ({ ...old, dialog }), resetScroll: false });
  const close = (change: Pick<WebhooksSearch, "replay"> = {}) =>
    void navigate({
      search: ({ dialog: _, ...rest }) => present({ ...rest, ...change }),
      resetScroll: false,
    });
  return (
    <Page
      title={text.title}
      about={account.name}
      lead={text.lead}
      hasTimes
      actions={
        <Group gap="sm">
          <ReasonedButton reason={denial} variant="default" onClick={() => open("replay")}>
            {search.replay ? text.showReplay : text.replayMany}
          </ReasonedButton>
          <ReasonedButton
            reason={denial}
            leftSection={<IconSend size={16} aria-hidden />}
            onClick={() => open("test")}
          >
            {text.test}
          </ReasonedButton>
        </Group>
      }
    >
      <Tabs
        value={search.tab ?? "deliveries"}
        keepMounted={false}
        onChange={(chosen) => {
          const tab = chosen === "deliveries" ? undefined : (chosen as WebhooksSearch["tab"]);
          void navigate({ search: present({ tab, replay: search.replay }) });
        }}
      >
        <Tabs.List aria-label={text.views} mb="md">
          {TABS.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {text.tabs[tab]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="deliveries">
          <Deliveries />
        </Tabs.Panel>
        <Tabs.Panel value="hosts">
          <Hosts />
        </Tabs.Panel>
        <Tabs.Panel value="secret">
          <Suspense>
            <SecretPanel />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="verify">
          <Suspense>
            <VerifySamples />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      <Suspense>
        {search.dialog === "test" && denial === undefined && <TestEvent onClose={() => close()} />}
        {search.dialog === "replay" && denial === undefined && (
          <ReplayExhausted
            replayId={search.replay}
            onStarted={(replay) =>
              void navigate({ search: (old) => ({ ...old, replay }), replace: true })
            }
            onClose={(isOver) => close(isOver ? { replay: undefined } : {})}
          />
        )}
      </Suspense>
    </Page>
  );
}
