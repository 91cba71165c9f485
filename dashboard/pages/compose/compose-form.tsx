import {
  Anchor,
  Button,
  Code,
  Collapse,
  Group,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconSend } from "@tabler/icons-react";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { NewMessage } from "#contract";
import { countSegments } from "#contract/segments";
import { call, newIdempotencyKey } from "../../api.ts";
import { useDraft } from "../../drafts.ts";
import { type Failure, fieldErrors, localFailure } from "../../failure.ts";
import { countOf, type Zone, zoneName } from "../../format.ts";
import { fromWall } from "../../range.ts";
import { present } from "../../search.ts";
import { useAccount, useDenial } from "../../session.ts";
import { composeText as text } from "../../text/compose.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { TextLink } from "../../ui/link.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { type Fields, useFields } from "../../ui/use-fields.ts";
import { useZone } from "../../ui/zone.tsx";
import { useAction } from "../../use-action.ts";
import { useRead } from "../../use-read.ts";
import { fieldsOf } from "../message/fields-of.ts";
import type { Price } from "./use-price.ts";

type Values = {
  recipient: string;
  text: string;
  sender: string;
  sendAt: string;
  callbackUrl: string;
  reference: string;
  /** Of a message that is sent again. */
  metadata: Record<string, string> | null;
};

const EMPTY: Values = {
  recipient: "",
  text: "",
  sender: "",
  sendAt: "",
  callbackUrl: "",
  reference: "",
  metadata: null,
};

const MORE = ["sendAt", "callbackUrl", "reference"] as const;
const SHOWN = ["recipient", "text", "sender", ...MORE];

const MAX_SEGMENTS = 10;

/** The fields, kept as a draft for this tab, and the message they make, once it can be priced. */
export function useComposeFields() {
  const zone = useZone();
  const [draft, keep, forget] = useDraft<Values>("compose", EMPTY);
  const checks = {
    recipient: (value: string) => (value.trim() === "" ? text.recipientNeeded : null),
    text: checkText,
    sendAt: (value: string) => checkTime(value, zone, fields.getInputNode("sendAt")),
  };
  const fields: Fields<Values> = useFields<Values>(draft, checks, SHOWN);
  const { values } = fields;
  useEffect(() => keep(values), [values]);
  const isPriceable = values.recipient.trim() !== "" && checkText(values.text) === null;
  const message = isPriceable ? toMessage(values, zone) : undefined;
  return { fields, message, forget };
}

export type Compose = ReturnType<typeof useComposeFields>;

function checkText(value: string): string | null {
  if (value.trim() === "") return text.textNeeded;
  const { segments } = countSegments(value);
  return segments > MAX_SEGMENTS ? text.tooLong(segments) : null;
}

/** Half a time reads as an empty field, which would mean now: only the field itself knows better. */
function checkTime(value: string, zone: Zone, input: HTMLInputElement | null): string | null {
  const isWhole = value === "" ? !input?.validity.badInput : fromWall(value, zone) !== undefined;
  return isWhole ? null : text.sendAtWrong;
}

/** What is left empty is left out. A wall clock time is of the zone of the page. */
function toMessage(values: Values, zone: Zone): NewMessage {
  const { recipient, text: content, sendAt, metadata, ...others } = values;
  const given = Object.entries(others).filter(([, value]) => value.trim() !== "");
  return {
    recipient: recipient.replaceAll(/[\s().-]/g, ""),
    text: content,
    ...Object.fromEntries(given.map(([name, value]) => [name, value.trim()])),
    ...present({ metadata: metadata ?? undefined, sendAt: fromWall(sendAt, zone) }),
  };
}

type Props = { compose: Compose; price: Price; onSent: (messageId: string) => void };

export function ComposeForm({ compose, price, onSent }: Props) {
  const { fields, message, forget } = compose;
  const { accountId } = useAccount();
  const denial = useDenial("developer");
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const send = useAction(async (body: NewMessage) => {
    const sent = await call(
      "POST /console/accounts/{accountId}/messages",
      { params: { accountId }, body },
      { idempotencyKey },
    );
    forget();
    return sent;
  });
  useFillFrom(compose);

  async function submit(): Promise<void> {
    if (!message) return;
    const outcome = await send.run(message);
    if (outcome?.ok) onSent(outcome.result.messageId);
    if (outcome?.ok !== false) return;
    fields.take(outcome.failure);
    if (isSentBefore(outcome.failure)) setIdempotencyKey(newIdempotencyKey());
  }
  const credits = price.preview && countOf(price.preview.credits, "credit");
  const failure = fields.general(send.failure);
  const early = price.failure && fieldErrors(price.failure, SHOWN).fields;
  return (
    <form onSubmit={fields.submit(() => void submit())} noValidate>
      <Stack gap="md">
        {failure && <SendFailure failure={failure} />}
        <RecipientField compose={compose} price={price} early={early?.["recipient"]} />
        <TextInput
          label={text.sender}
          description={text.senderHint}
          autoComplete="off"
          {...fields.getInputProps("sender")}
          error={fields.errors["sender"] ?? early?.["sender"]}
        />
        <Textarea
          label={text.text}
          autosize
          minRows={4}
          maxRows={14}
          withAsterisk
          {...fields.getInputProps("text")}
          error={fields.errors["text"] ?? lengthProblem(fields.values.text) ?? early?.["text"]}
        />
        {fields.values.metadata && (
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            {text.metadata} <Code>{JSON.stringify(fields.values.metadata)}</Code>
          </Text>
        )}
        <MoreOptions compose={compose} early={early} />
        <Group>
          <ReasonedButton
            type="submit"
            reason={denial}
            loading={send.isRunning}
            leftSection={<IconSend size={16} aria-hidden />}
          >
            {credits ? text.sendFor(credits) : text.send}
          </ReasonedButton>
        </Group>
      </Stack>
    </form>
  );
}

/** Too long is said while typing; that nothing is written yet only when it is sent. */
function lengthProblem(value: string): string | undefined {
  return value.trim() === "" ? undefined : (checkText(value) ?? undefined);
}

/** The key belongs to this form alone: only a send whose answer was lost can have used it. */
function isSentBefore({ code }: Failure): boolean {
  return code === "IDEMPOTENCY_KEY_REUSED";
}

function SendFailure({ failure }: { failure: Failure }) {
  if (isSentBefore(failure)) {
    return (
      <FailureLine failure={localFailure(failure.code, text.sentBefore)}>
        <TextLink to="/messages" underline="always">
          {text.lookAtMessages}
        </TextLink>
      </FailureLine>
    );
  }
  const [detail] = failure.details;
  const { required, available } = detail ?? {};
  if (
    failure.code === "CREDITS_INSUFFICIENT" &&
    required !== undefined &&
    available !== undefined
  ) {
    return (
      <FailureLine failure={failure}>
        {text.insufficient(countOf(required, "credit"), countOf(available, "credit"))}
      </FailureLine>
    );
  }
  return <FailureLine failure={failure} />;
}

const countries = new Intl.DisplayNames("en", { type: "region" });

type RecipientProps = { compose: Compose; price: Price; early: string | undefined };

function RecipientField({ compose: { fields }, price, early }: RecipientProps) {
  const country = price.preview?.country;
  const likely = early && /\b\d{7,15}\b/.exec(early)?.[0];
  return (
    <div>
      <TextInput
        label={text.recipient}
        description={text.recipientHint}
        type="tel"
        inputMode="tel"
        autoComplete="off"
        withAsterisk
        {...fields.getInputProps("recipient")}
        error={fields.errors["recipient"] ?? early}
      />
      {country && (
        <Text size="sm" c="dimmed" mt={4} role="status">
          {text.country(countries.of(country) ?? country)}
        </Text>
      )}
      {likely && likely !== fields.values.recipient && (
        <Button
          variant="default"
          size="compact-sm"
          mt={6}
          onClick={() => fields.setFieldValue("recipient", likely)}
        >
          {text.useInstead(likely)}
        </Button>
      )}
    </div>
  );
}

type MoreProps = { compose: Compose; early: Record<string, string> | undefined };

function MoreOptions({ compose: { fields }, early }: MoreProps) {
  const zone = useZone();
  const [isChosen, more] = useDisclosure(MORE.some((name) => fields.values[name]));
  // What is wrong is in sight.
  const isOpen = isChosen || MORE.some((name) => Boolean(fields.errors[name] ?? early?.[name]));
  return (
    <div>
      <Anchor
        component="button"
        type="button"
        size="sm"
        aria-expanded={isOpen}
        onClick={more.toggle}
      >
        <Group gap={4}>
          {text.more}
          <IconChevronDown size={14} aria-hidden />
        </Group>
      </Anchor>
      <Collapse expanded={isOpen}>
        <Stack gap="md" mt="sm">
          <TextInput
            type="datetime-local"
            label={text.sendAt}
            description={text.sendAtHint(zoneName(zone))}
            {...fields.getInputProps("sendAt")}
            error={fields.errors["sendAt"] ?? early?.["sendAt"]}
          />
          <TextInput
            type="url"
            label={text.callbackUrl}
            description={text.callbackHint}
            autoComplete="off"
            {...fields.getInputProps("callbackUrl")}
            error={fields.errors["callbackUrl"] ?? early?.["callbackUrl"]}
          />
          <TextInput
            label={text.reference}
            description={text.referenceHint}
            autoComplete="off"
            {...fields.getInputProps("reference")}
            error={fields.errors["reference"] ?? early?.["reference"]}
          />
        </Stack>
      </Collapse>
    </div>
  );
}

/** "Send again" fills the form from that message, once: from then on the draft has it. */
function useFillFrom({ fields }: Compose): void {
  const { accountId } = useAccount();
  const { again } = useSearch({ from: "/signed-in/compose" });
  const before = useRead(
    "GET /console/accounts/{accountId}/messages/{messageId}",
    { params: { accountId, messageId: again ?? "" } },
    { isOn: again !== undefined },
  );
  const router = useRouter();
  useEffect(() => {
    // A page that is being left stays mounted until the next one has loaded.
    if (!before.data || router.latestLocation.pathname !== "/compose") return;
    fields.setValues({ ...EMPTY, ...fieldsOf(before.data) });
    void router.navigate({ to: "/compose", search: {}, replace: true });
  }, [before.data]);
}
