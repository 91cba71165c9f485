import { Button, Code, Group, NativeSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { type Answer, call } from "../../api.ts";
import { checkPresent } from "../../fields.ts";
import { useAccount } from "../../session.ts";
import { testText as text, webhooksText } from "../../text/webhooks.ts";
import { words } from "../../text/words.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { Verdict } from "../../ui/verdict.tsx";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import { EVENTS } from "../../vocabulary.ts";
import { Exchange } from "./exchange.tsx";
import classes from "./exchange.module.css";
import { Dialog } from "../../ui/dialog.tsx";

type Result = Answer<"POST /console/accounts/{accountId}/webhook-tests">;
type Values = { url: string; event: (typeof EVENTS)[number] };

/** Sends one signed event to an address and shows the answer at once. */
export function TestEvent({ onClose }: { onClose: () => void }) {
  const { accountId } = useAccount();
  const [result, setResult] = useState<Result>();
  const fields = useFormFields<Values>(
    `test-event ${accountId}`,
    { url: "", event: "message.delivered" },
    { url: checkPresent(text.urlNeeded) },
  );
  const test = useAction(({ url, event }: Values) =>
    call("POST /console/accounts/{accountId}/webhook-tests", {
      params: { accountId },
      body: { url: url.trim(), event },
    }),
  );
  async function send(values: Values): Promise<void> {
    const outcome = await test.run(values);
    if (outcome?.ok === false) fields.take(outcome.failure);
    setResult(outcome?.ok ? outcome.result : undefined);
  }
  const failure = fields.general(test.failure);
  return (
    <Dialog onClose={onClose} title={text.title} size="lg">
      <form onSubmit={fields.submit((values) => void send(values))} noValidate>
        <Stack gap="md">
          <Text size="sm">{text.lead}</Text>
          {failure && <FailureLine failure={failure} />}
          <TextInput
            label={text.url}
            description={text.urlHint}
            type="url"
            autoComplete="off"
            data-autofocus
            {...fields.getInputProps("url")}
          />
          <NativeSelect label={text.event} data={EVENTS} {...fields.getInputProps("event")} />
          {result && <TestResult result={result} />}
          <Group justify="flex-end" className={classes["buttons"]}>
            <Button variant="default" onClick={onClose}>
              {words.close}
            </Button>
            <Button type="submit" loading={test.isRunning}>
              {result ? text.again : text.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function TestResult({ result }: { result: Result }) {
  return (
    <Stack gap="sm" role="status">
      <Verdict isGood={result.isDelivered}>{result.isDelivered ? text.good : text.bad}</Verdict>
      <Title order={3} size="h6">
        {webhooksText.body}
      </Title>
      <Code block tabIndex={0} className={classes["body"]} aria-label={webhooksText.body}>
        {result.body}
      </Code>
      <Exchange exchange={result.exchange} isOpen />
    </Stack>
  );
}
