import "@mantine/spotlight/styles.layer.css";
import { createSpotlight, Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { type LinkProps, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { recognise } from "../pages/messages/search.ts";
import { useDenial, useMe } from "../session.ts";
import { paletteText as text } from "../text/palette.ts";
import { shellText } from "../text/shell.ts";

type Entry = { title: string; keywords: string; link: LinkProps };

const PAGES: Entry[] = [
  { title: shellText.overview, keywords: text.keywords.overview, link: { to: "/" } },
  { title: shellText.messages, keywords: text.keywords.messages, link: { to: "/messages" } },
  { title: shellText.compose, keywords: text.keywords.compose, link: { to: "/compose" } },
  { title: shellText.webhooks, keywords: text.keywords.webhooks, link: { to: "/webhooks" } },
  { title: shellText.keys, keywords: text.keywords.keys, link: { to: "/keys" } },
  { title: shellText.credits, keywords: text.keywords.credits, link: { to: "/credits" } },
  { title: shellText.team, keywords: text.keywords.team, link: { to: "/team" } },
  { title: shellText.settings, keywords: text.keywords.settings, link: { to: "/settings" } },
  { title: shellText.profile, keywords: text.keywords.profile, link: { to: "/profile" } },
];

const OPERATOR_PAGES: Entry[] = [
  { title: text.accounts, keywords: text.keywords.operator, link: { to: "/operator/accounts" } },
  { title: text.users, keywords: text.keywords.operator, link: { to: "/operator/users" } },
  { title: text.carriers, keywords: text.keywords.carriers, link: { to: "/operator/carriers" } },
  { title: text.routes, keywords: text.keywords.routes, link: { to: "/operator/routes" } },
  { title: text.prices, keywords: text.keywords.routes, link: { to: "/operator/prices" } },
  { title: text.queue, keywords: text.keywords.queue, link: { to: "/operator/queue" } },
  { title: text.audit, keywords: text.keywords.audit, link: { to: "/operator/audit" } },
];

const DEVELOPER_ACTIONS: Entry[] = [
  {
    title: text.createKey,
    keywords: text.keywords.keys,
    link: { to: "/keys", search: { dialog: "create" } },
  },
  {
    title: text.testEvent,
    keywords: text.keywords.webhooks,
    link: { to: "/webhooks", search: { dialog: "test" } },
  },
];

const ACTIONS: Entry[] = [
  {
    title: text.secret,
    keywords: text.keywords.secret,
    link: { to: "/webhooks", search: { tab: "secret" } },
  },
];

/** Entries that match the input; matches of the name come before those of other words. */
function fitting<Known extends Entry>(entries: Known[], query: string): Known[] {
  const wanted = query.trim().toLowerCase();
  const isNamed = ({ title }: Entry) => title.toLowerCase().includes(wanted);
  const fits = entries.filter((each) => isNamed(each) || each.keywords.includes(wanted));
  return fits.toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
}

/** Treats the input as a message id or a number; it can always be a reference. */
function lookUp(query: string, seesNumbers: boolean): Entry[] {
  const wanted = recognise(query, seesNumbers);
  if (wanted === undefined) return [];
  const reference = query.trim();
  const withIt: Entry = {
    title: text.messagesWith(reference),
    keywords: query,
    link: { to: "/messages", search: { reference } },
  };
  switch (wanted.kind) {
    case "id": {
      const { id } = wanted;
      const link: LinkProps = { to: "/messages/$messageId", params: { messageId: id } };
      return [{ title: text.openMessage(id), keywords: query, link }, withIt];
    }
    case "recipient": {
      const { recipient } = wanted;
      const link: LinkProps = { to: "/messages", search: { recipient } };
      return [{ title: text.messagesTo(recipient), keywords: query, link }, withIt];
    }
    case "reference":
      return [withIt];
  }
}

/** Finds pages, actions and messages by typing. Loaded when first opened. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { isOperator } = useMe();
  const isDeveloper = useDenial("developer") === undefined;
  const [[store, spotlight]] = useState(createSpotlight);
  const [query, setQuery] = useState("");
  useEffect(() => spotlight.open(), [spotlight]);
  useFocusBackFromNowhere();
  const toAction = ({ title, keywords, link }: Entry): SpotlightActionData => ({
    id: title,
    label: title,
    keywords,
    onClick: () => void navigate(link),
  });
  const inGroup = (group: string, entries: Entry[]) => entries.map((each) => ({ ...each, group }));
  const entries = [
    ...inGroup(text.pages, [...PAGES, ...(isOperator ? OPERATOR_PAGES : [])]),
    ...inGroup(text.actions, [...(isDeveloper ? DEVELOPER_ACTIONS : []), ...ACTIONS]),
  ];
  // Messages come last: any input may be one's reference.
  const found = inGroup(text.found, lookUp(query, isDeveloper));
  const groups = Map.groupBy([...fitting(entries, query), ...found], ({ group }) => group);
  return (
    <Spotlight
      store={store}
      actions={[...groups].map(([group, each]) => ({ group, actions: each.map(toAction) }))}
      filter={(_, fits) => fits}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      nothingFound={text.nothing}
      highlightQuery
      scrollable
      maxHeight={420}
      title={text.title}
      // It names the dialog, but need not be visible: the field's placeholder is enough.
      styles={{ header: { display: "none" } }}
      onSpotlightClose={onClose}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: text.placeholder,
        "aria-label": text.title,
      }}
    />
  );
}

/** If closed without a choice, returns the focus; after a choice the new page has it. */
function useFocusBackFromNowhere(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Only once the palette is gone: its focus trap would take the focus back.
      setTimeout(() => {
        const isNowhere = document.activeElement === document.body;
        if (isNowhere && opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
    },
    [opener],
  );
}
