import { Badge, Button, Code, Group, Paper, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { SAMPLE_RECIPIENT, SAMPLE_TEXT, sendSamples } from "../../samples.ts";
import { useAccount, useDenial, useMe } from "../../session.ts";
import { walkText as text } from "../../text/overview.ts";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ButtonLink } from "../../ui/link.tsx";
import { ReasonedLink } from "../../ui/reasoned.tsx";
import classes from "./overview.module.css";
import { type Progress, type StepName, walkSteps } from "./walk-steps.ts";

type Props = {
  progress: Progress;
  /** Undefined if there is nothing else to show on the page. */
  onHide: (() => void) | undefined;
};

/** The steps to the first delivered message; each is ticked wherever it was done. */
export function Walk({ progress, onHide }: Props) {
  const steps = walkSteps(progress);
  const done = steps.filter(({ isDone }) => isDone).length;
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={text.title}>
      <Group justify="space-between" mb="md">
        <Title order={2} size="h4">
          {progress.hasMessage ? text.goOn : text.title}
        </Title>
        <Group gap="sm">
          <Text size="sm" c="dimmed" role="status">
            {text.progress(done, steps.length)}
          </Text>
          {onHide && (
            <Button variant="default" size="compact-sm" onClick={onHide}>
              {text.hide}
            </Button>
          )}
        </Group>
      </Group>
      <ol className={classes["walk"]}>
        {steps.map(({ name, isDone, isNext }, index) => (
          <li key={name} className={classes["step"]} data-done={isDone}>
            <StepMark number={index + 1} isDone={isDone} isNext={isNext} />
            <Stack gap="xs" flex={1} miw={0}>
              <Group gap="xs">
                <Text fw={600}>{text[name]}</Text>
                {isDone && (
                  <Badge variant="outline" color="teal" c="var(--mantine-color-text)" size="sm">
                    {text.done}
                  </Badge>
                )}
              </Group>
              {isNext && <StepContent name={name} />}
            </Stack>
          </li>
        ))}
      </ol>
    </Paper>
  );
}

function StepMark({
  number,
  isDone,
  isNext,
}: {
  number: number;
  isDone: boolean;
  isNext: boolean;
}) {
  if (isDone) {
    return (
      <ThemeIcon color="teal.8" radius="xl" size={26} aria-hidden>
        <IconCheck size={16} />
      </ThemeIcon>
    );
  }
  return (
    <span className={classes["mark"]} data-next={isNext} aria-hidden>
      {number}
    </span>
  );
}

function StepContent({ name }: { name: StepName }) {
  const denial = useDenial("developer");
  switch (name) {
    case "key":
      return (
        <Step hint={text.keyHint}>
          <ReasonedLink reason={denial} link={{ to: "/keys", search: { dialog: "create" } }}>
            {text.keyAction}
          </ReasonedLink>
        </Step>
      );
    case "send":
      return <SendStep />;
    case "webhook":
      return <WebhookStep />;
    case "invite":
      return (
        <Step hint={text.inviteHint}>
          <ButtonLink to="/team">{text.inviteAction}</ButtonLink>
        </Step>
      );
  }
}

function Step({ hint, children }: { hint: string; children: ReactNode }) {
  return (
    <Stack gap="sm">
      <Text size="sm">{hint}</Text>
      <Group>{children}</Group>
    </Stack>
  );
}

function SendStep() {
  const { publicUrl } = useMe();
  const denial = useDenial("developer");
  const fields = { recipient: SAMPLE_RECIPIENT, text: SAMPLE_TEXT };
  return (
    <Stack gap="sm">
      <Text size="sm">{text.sendHint}</Text>
      <Code block translate="no">
        {text.exportKey}
      </Code>
      <CodeSamples
        label={text.samples}
        samples={sendSamples(publicUrl, fields)}
        copyLabel={text.copyIn}
      >
        <ReasonedLink reason={denial} link={{ to: "/compose" }} variant="default">
          {text.sendAction}
        </ReasonedLink>
      </CodeSamples>
    </Stack>
  );
}

function WebhookStep() {
  const { accountId } = useAccount();
  const denial = useDenial("developer");
  const command = `npx posthorn listen --account ${accountId}`;
  return (
    <Stack gap="sm">
      <Text size="sm">{text.webhookHint}</Text>
      <Code block translate="no" tabIndex={0} className={classes["command"]}>
        {command}
      </Code>
      <Group>
        <CopyButton text={command} label={text.copyListen} />
        <ReasonedLink
          reason={denial}
          link={{ to: "/webhooks", search: { dialog: "test" } }}
          variant="default"
        >
          {text.webhookAction}
        </ReasonedLink>
      </Group>
    </Stack>
  );
}
