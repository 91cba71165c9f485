import {
  Alert,
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
import { useState } from "react";
import type { NewMessage } from "#contract";
import { call, newIdempotencyKey } from "../../api.ts";
import { type Failure, fieldErrors, localFailure } from "../../failure.ts";
import { countOf, zoneName } from "../../format.ts";
import { useAccount, useDenial } from "../../session.ts";
import { composeText as text } from "../../text/compose.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { TextLink } from "../../ui/link.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { useZone } from "../../ui/zone.tsx";
import { useAction } from "../../use-action.ts";
import { checkText, type ComposeFields, MORE, SHOWN, useFillFrom } from "./compose-fields.ts";
import type { Price } from "./use-price.ts";

type Props = { compose: ComposeFields; price: Price; onSent: (messageId: string) => void };

export function ComposeForm({ compose, price, onSent }: Props) {
  const { fields, message, forget } = compose;
  const { accountId } = useAccount();
  const denial = useDenial("developer");
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const send = useAction(async (body: NewMessage) => {
    const typed = JSON.stringify(fields.getValues());
    const sent = await call(
      "POST /console/accounts/{accountId}/messages",
      { params: { accountId }, body },
      { idempotencyKey },
    );
    // What was changed while the answer was awaited is not sent yet.
    if (JSON.stringify(fields.getValues()) === typed) forget();
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
        {denial && (
          <Alert variant="outline" color="gray">
            {denial} {text.countOnly}
          </Alert>
        )}
        {denial === undefined && (
          <>
            <RecipientField compose={compose} price={price} />
            <TextInput
              label={text.sender}
              description={text.senderHint}
              autoComplete="off"
              {...fields.getInputProps("sender")}
              error={fields.errors["sender"] ?? early?.["sender"]}
            />
          </>
        )}
        <Textarea
          label={text.text}
          dir="auto"
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
        {denial === undefined && <MoreOptions compose={compose} early={early} />}
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

/** Says that a text is too long during typing, but that it is missing only on sending. */
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
    const says = text.insufficient(countOf(required, "credit"), countOf(available, "credit"));
    return <FailureLine failure={localFailure(failure.code, says)} />;
  }
  return <FailureLine failure={failure} />;
}

const countries = new Intl.DisplayNames("en", { type: "region" });

type RecipientProps = { compose: ComposeFields; price: Price };

function RecipientField({ compose: { fields }, price }: RecipientProps) {
  // A half-typed number is no mistake while the person is still typing.
  const [isLeft, setIsLeft] = useState(false);
  const early = price.isAsked || isLeft ? price.wrongNumber : undefined;
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
        onBlur={() => setIsLeft(true)}
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

type MoreProps = { compose: ComposeFields; early: Record<string, string> | undefined };

function MoreOptions({ compose: { fields }, early }: MoreProps) {
  const zone = useZone();
  const [isChosen, more] = useDisclosure(MORE.some((name) => fields.values[name]));
  // Opens if one of these fields has an error, so that it is visible.
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
